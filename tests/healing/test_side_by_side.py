"""Servers are looked at side by side, whatever each of them takes."""

from __future__ import annotations

import threading
from collections.abc import Sequence

import pytest

from support.workshop import Workshop
from tipstaff.drift.observing.target import Call, Observation, Target
from tipstaff.engine import Engine
from tipstaff.errors import UnobservedError
from tipstaff.healing.contracts import Wanted
from tipstaff.healing.pins.checking import check

NAMES = ["one", "other", "third"]
PATIENCE_S = 60


@pytest.mark.req("C-03")
def test_three_servers_are_under_way_at_the_same_time(workshop: Workshop) -> None:
    servers = "".join(f"    {name}: {{command: [no-such-program]}}\n" for name in NAMES)
    file = workshop.root / "tipstaff.yaml"
    file.write_text(f"{file.read_text()}contracts:\n  servers:\n{servers}")
    together = threading.Barrier(len(NAMES))

    def observe(target: Target, calls: Sequence[Call]) -> Observation:
        together.wait(PATIENCE_S)
        raise UnobservedError("contract.unreachable", target.name, fix="start it")

    with Engine.open(str(workshop.root)) as engine:
        found = check(engine, [], Wanted("error"), observe)
    assert [one.server.name for one in found] == NAMES
    assert not any(one.settled for one in found)
    assert not together.broken
