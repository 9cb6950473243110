"""Many people decide at once: one decision counts, the others are told, and nothing happens twice."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.processes import Nursery, a_nursery
from support.workshop import Workshop

PEOPLE = 20
DECIDED = {"approved", "rejected"}


@pytest.fixture
def nursery(project: Path, tmp_path: Path) -> Iterator[Nursery]:
    """Runs in the project, whose sidecar is up."""
    with a_nursery(project, tmp_path / "nursery") as nursery:
        assert nursery.run("sidecar", "start").code == 0
        yield nursery


@pytest.mark.req("AP-03")
@pytest.mark.parametrize("verbs", [("approve", "reject"), ("approve",), ("reject",)])
def test_of_twenty_decisions_on_one_request_one_counts(
    project: Path, nursery: Nursery, verbs: tuple[str, ...]
) -> None:
    workshop = Workshop(project)
    people = PEOPLE if len(verbs) > 1 else 6
    call = ("change", "propose", "--class", "heal_additive", "--diff", "-", "--json")
    asked = nursery.run(*call, stdin=workshop.diff()).json
    key = asked["approval"]["key"]
    calls = [["approvals", verbs[n % len(verbs)], key, "--json"] for n in range(people)]
    ends = nursery.run_all(calls)
    winners = [(call[1], end.json) for call, end in zip(calls, ends, strict=True) if end.code == 0]
    assert len(winners) == 1
    assert [end.code for end in ends if end.code != 0] == [2] * (people - 1)
    assert {end.json["error"]["code"] for end in ends if end.code} <= {
        "approval.decided",
        "approval.consumed",
    }
    [(verb, won)] = winners
    assert won["request"]["status"] == {"approve": "consumed", "reject": "rejected"}[verb]
    assert won["request"]["status"] == workshop.status(key)
    entries = workshop.entries()
    assert len([entry for entry in entries if entry in DECIDED]) == 1
    assert entries.count("carried-out") == (1 if verb == "approve" else 0)
    text = Path(asked["pull_request"]).read_text()
    assert f'status: "{"ready" if verb == "approve" else "closed"}"' in text
    assert workshop.is_sound()


@pytest.mark.req("AP-03", "AU-03")
def test_same_change_proposed_by_many_at_once_leaves_a_sound_trail(
    project: Path, nursery: Nursery
) -> None:
    workshop = Workshop(project)
    call = ["change", "propose", "--class", "heal_additive", "--diff", "-", "--json"]
    ends = nursery.run_all([call] * 6, stdin=workshop.diff())
    assert [end.code for end in ends] == [1] * 6
    keys = {end.json["approval"]["key"] for end in ends}
    requests = nursery.run("approvals", "list", "--json").json["requests"]
    assert {request["key"] for request in requests} == keys
    assert len(keys) == 1
    assert len(workshop.branches()) == len(workshop.pull_requests()) == 1
    assert workshop.is_sound()
