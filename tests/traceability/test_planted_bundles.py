"""One fault planted against each promise about bundles at work: a test of the promise turns red."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from support.processes import a_nursery
from support.workshop import AUTOMATIC, Workshop
from tipstaff.engine.policy import Policy
from tipstaff.ledger.clock import Clock
from tipstaff.pdp.bundle import Bundle
from tipstaff.pdp.marks import Marks
from tipstaff.pdp.opa import Opa
from tipstaff.pdp.sidecar import Sidecar
from traceability.test_planted_faults import Plant, python, rego
from traceability.test_planted_reliability import demand_red, wanted

BUNDLES, ZERO = "cli/test_policy_bundles.py", "engine/test_zero_is_not_default.py"
SETTING = "test_empty_setting_means_what_it_says_or_is_refused"
MOMENTS = '_moments := {object.get(input, ["context", "now"], null)}'
SLOWLY = """
import os, time
from tipstaff import files

def in_place(path, data, *, mode=0o600):
    with open(path, "wb") as file:
        for half in (data[: len(data) // 2], data[len(data) // 2 :]):
            file.write(half)
            file.flush()
            time.sleep(0.2)

files.write_atomically = in_place
"""


def whoever_answered_first(patch: pytest.MonkeyPatch, _tmp: Path) -> None:
    """Every question goes to the sidecar that was joined first, whatever it serves."""
    join, first = Policy._joined, list[Sidecar]()

    def joined(self: Policy, bundles: tuple[Bundle, ...]) -> Sidecar:
        first.extend([] if first else [join(self, bundles)])
        return first[0]

    patch.setattr(Policy, "_joined", joined)


def written_in_place(patch: pytest.MonkeyPatch, tmp: Path) -> None:
    """Processes that write into the files themselves, and not beside them."""
    (tmp / "early").mkdir()
    (tmp / "early" / "sitecustomize.py").write_text(SLOWLY)
    patch.setenv("PYTHONPATH", str(tmp / "early"))


FAULTS: dict[str, tuple[Plant, str, str, dict[str, Any]]] = {
    "B5: another revision answers than is asked": (
        whoever_answered_first,
        "engine/test_hot_swaps.py",
        "test_no_answer_mixes_two_revisions",
        {"swaps": 4, "clients": 2},
    ),
    "B7: the new file is written over the old one": (
        written_in_place,
        "cli/test_killed_bundles.py",
        "test_kill_at_any_moment_leaves_the_old_or_the_new_bundle",
        {"kills": 6},
    ),
    "B7: the copy that is behind counts": (
        python(Marks, "_joined", lambda _self, own, _seen: own),
        "pdp/test_marks.py",
        "test_crash_between_the_two_copies_loses_nothing",
        {},
    ),
    "row 48: a bundle past its end counts for another day": (
        rego(
            "guard/expiry.rego",
            "time.parse_rfc3339_ns(moment) < time.parse_rfc3339_ns(_ends(name))",
            "time.parse_rfc3339_ns(moment) - 86400000000000 < time.parse_rfc3339_ns(_ends(name))",
        ),
        BUNDLES,
        "test_bundle_past_its_end_only_escalates",
        {},
    ),
    "row 48: the latest time is not looked at": (
        rego("guard/expiry.rego", f"{MOMENTS} | _latest", MOMENTS),
        BUNDLES,
        "test_clock_that_is_set_back_brings_no_expired_bundle_back",
        {},
    ),
    "row 48: the latest time is not kept": (
        python(Clock, "latest", lambda _: None),
        BUNDLES,
        "test_clock_that_is_set_back_brings_no_expired_bundle_back",
        {},
    ),
    "ahead 21: an empty list stands for the usual one": (
        rego("config/config.rego", "not is_null(value)", "not value in [null, []]"),
        ZERO,
        SETTING,
        {"name": "team"},
    ),
    "ahead 21: no test at all is a test that passed": (
        rego("evidence/evidence.rego", "_tests.passed > 0", "_tests.passed >= 0"),
        ZERO,
        "test_empty_fact_opens_no_gate",
        {},
    ),
}


@contextmanager
def _given(
    workshop: Workshop, opa: Opa, patch: pytest.MonkeyPatch, tmp: Path, names: tuple[str, ...]
) -> Iterator[dict[str, Any]]:
    given: dict[str, Any] = {"opa": opa, "monkeypatch": patch, "tmp_path": tmp}
    if "shop" in names or "nursery" in names:
        workshop.configure(autonomy=AUTOMATIC)
    with ExitStack() as stack:
        if "nursery" in names:
            given["nursery"] = stack.enter_context(a_nursery(workshop.root, tmp / "nursery"))
        yield {**given, "project": workshop.root, "workshop": workshop, "shop": workshop}


@pytest.mark.parametrize("fault", FAULTS)
def test_planted_fault_turns_a_test_of_the_promise_red(
    workshop: Workshop, opa: Opa, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, fault: str
) -> None:
    plant, path, name, values = FAULTS[fault]
    plant(monkeypatch, tmp_path)
    with _given(workshop, opa, monkeypatch, tmp_path, wanted(path, name)) as given:
        demand_red(path, name, {**given, **values})
