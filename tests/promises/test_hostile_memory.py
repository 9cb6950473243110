"""An engine that is fed hostile questions neither grows without end nor stops answering."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from support.figures import dice, figure
from support.policies import build_policy
from support.sidecars import WIDE_S, effect_of
from tipstaff.errors import DecisionError
from tipstaff.pdp import sidecar
from tipstaff.pdp.client import VERDICT
from tipstaff.pdp.opa import Opa

MIB = 1 << 20
MOST_MIB = 512
# What a question of about so many bytes is made of.
HOSTILE: dict[str, Callable[[int], bytes]] = {
    "deep lists": lambda size: b"[" * (size // 2) + b"]" * (size // 2),
    "deep objects": lambda size: b'{"a":' * (size // 6) + b"1" + b"}" * (size // 6),
    "deep, within what is read": lambda size: b"[" * 5000 + b"0" * (size % 7 + 1) + b"]" * 5000,
    "one long text": lambda size: b'"' + b"\\u0000" * (size // 6) + b'"',
    "many keys": lambda size: json.dumps(
        {str(number): number for number in range(size // 16)}
    ).encode(),
    "one key again and again": lambda size: b"{" + b'"a":1,' * (size // 6) + b'"a":1}',
    "many numbers": lambda size: b"[" + b"1e308," * (size // 6) + b"0]",
    "one long number": lambda size: b"9" * (size // 8),
    "cut in the middle": lambda size: b'{"a":["' + b"x" * size,
    "no text": lambda size: b"\xff\xfe" * (size // 2),
    "beyond what is read": lambda size: b'"' + b"x" * (17 * MIB) + b'"',
}


@pytest.fixture
def state(tmp_path: Path) -> Iterator[Path]:
    yield tmp_path / "state"
    sidecar.stop(tmp_path / "state")


@pytest.mark.promise("D8", "row 13", "row 14")
@figure("questions", commit=22, full=1_000)
def test_hostile_questions_leave_the_engine_small_and_at_work(
    opa: Opa,
    tmp_path: Path,
    state: Path,
    questions: int,
    record_property: Callable[[str, object], None],
) -> None:
    found = sidecar.join(state, opa, [build_policy(opa, tmp_path / "policy")])
    chance, peak, refused = dice(), 0, 0
    with found.client(deadline_s=WIDE_S) as client:
        for number in range(questions):
            write = list(HOSTILE.values())[number % len(HOSTILE)]
            body = b'{"input":{"ok":' + write(chance.randrange(MIB // 4, MIB)) + b"}}"
            try:
                assert client.ask(VERDICT, body).result == {"effect": "deny"}
            except DecisionError:
                refused += 1
            if number % len(HOSTILE) == 0:
                peak = max(peak, resident(found.pid))
    peak = max(peak, resident(found.pid))
    assert effect_of(found) == "allow"
    assert peak <= MOST_MIB
    record_property(
        "D8",
        f"{questions:,} hostile questions of {len(HOSTILE)} kinds, {refused:,} refused and the rest "
        f"denied; at most {peak} MiB resident, and the same engine answers on",
    )


def resident(pid: int) -> int:
    """The most memory that a process ever had resident, in MiB."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    [line] = [line for line in lines if line.startswith("VmHWM:")]
    return int(line.split()[1]) // 1024
