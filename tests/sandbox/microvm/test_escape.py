"""The escape suite in a guest: what the host must see stays the same, and inside only a guest's own kernel is free."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from support.sandboxes import strict
from tipstaff.documents.sandbox import RunLimits
from tipstaff.sandbox.escape import cases, suite
from tipstaff.sandbox.escape.suite import _limits as limits_of
from tipstaff.sandbox.microvm import qemu
from tipstaff.sandbox.microvm.base import MicrovmBackend

# Emulated, an interpreter takes seconds to start, and the programs of many cases in one run minutes; and what a loaded
# host takes from the emulator counts as the guest's own CPU time.
_SLOWER_ALONE, _SLOWER_TOGETHER = 20, 40
# Interpreters inside of interpreters, and limits that need a machine each, are too slow for every commit.
_LATER = ("routes", "limits")
GROUPS = {
    "most": [c for c in cases.cases() if not c.alone and not c.id.startswith(_LATER)],
    **{part: [c for c in cases.chosen((part,)) if not c.alone] for part in _LATER},
    **{case.id: [case] for case in cases.cases() if case.alone},
}
NAMES = [
    name if name == "most" else pytest.param(name, marks=pytest.mark.nightly) for name in GROUPS
]


def _with_patience(group: Sequence[cases.Case]) -> RunLimits:
    limits = limits_of(group)
    slower = _SLOWER_ALONE if len(group) == 1 else _SLOWER_TOGETHER
    longer = {"cpu_s": limits.cpu_s * slower, "wall_s": limits.wall_s * slower}
    return limits.model_copy(update=longer)


@pytest.mark.req("S-03", "S-04", "S-05", "S-09", "KG-10")
@pytest.mark.promise("X1", "X4", "X5", "X8", "X9", "X10", "ahead 15")
@pytest.mark.promise("row 95", "row 96", "row 97", "row 98", "row 99", "row 100")
@pytest.mark.promise("row 101", "row 102", "row 103", "row 104")
@pytest.mark.parametrize("name", NAMES)
def test_no_case_finds_a_way_out_of_a_guest(
    backend: MicrovmBackend,
    name: str,
    monkeypatch: pytest.MonkeyPatch,
    record_property: Callable[[str, object], None],
) -> None:
    if backend.name == qemu.NAME:
        monkeypatch.setattr(suite, "_limits", _with_patience)
    chosen = GROUPS[name]
    found = list(suite.run(backend, strict(), chosen))
    assert [finding.case for finding in found] == [case.id for case in chosen]
    assert [finding for finding in found if finding.outcome not in ("held", "contained")] == []
    held = sum(finding.outcome == "held" for finding in found)
    record_property("X10", f"{backend.name}, {name}: {held} of {len(found)} held, others contained")
