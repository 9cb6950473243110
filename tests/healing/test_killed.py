"""Killed at any moment: what is the user's is as it was, the trail holds, and the work is done exactly once."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.processes import Ended, Nursery, a_nursery
from support.repositories import git
from support.workshop import Workshop

KILLS = 20
SEED = 20260301


@pytest.fixture
def nursery(project: Path, tmp_path: Path) -> Iterator[Nursery]:
    """Runs in the project, whose sidecar is up."""
    with a_nursery(project, tmp_path / "nursery") as nursery:
        assert nursery.run("sidecar", "start").code == 0
        yield nursery


def propose(nursery: Nursery, diff: bytes, **how: float) -> Ended:
    """Propose the diff."""
    call = ("change", "propose", "--class", "heal_additive", "--diff", "-", "--json")
    return nursery.run(*call, stdin=diff, **how)


def propose_all(workshop: Workshop, nursery: Nursery, count: int) -> list[Ended]:
    """Propose so many changes at once."""
    calls = []
    for number in range(count):
        file = workshop.root.parent / f"{number}.diff"
        file.write_bytes(a_diff(workshop, number))
        call = ["change", "propose", "--class", "heal_additive", "--diff", str(file), "--json"]
        calls.append(call)
    return nursery.run_all(calls)


def a_diff(workshop: Workshop, number: int) -> bytes:
    """A change that no other is like."""
    return workshop.diff({f"skills/{number}/SKILL.md": f"# {number}\n"})


@pytest.mark.req("AU-04", "AU-05", "T-02")
def test_proposal_killed_at_any_moment_leaves_the_user_alone_and_can_be_repeated(
    project: Path, nursery: Nursery
) -> None:
    workshop, moments = Workshop(project), random.Random(SEED)
    usual = min(propose(nursery, a_diff(workshop, 1000 + n)).took for n in range(2))
    before = workshop.own()
    killed = 0
    for number in range(KILLS):
        diff = a_diff(workshop, number)
        ended = propose(nursery, diff, kill_after=moments.uniform(0, usual))
        killed += ended.code == -9
        # A machine that is less busy than before is quicker, too.
        usual = usual if ended.code == -9 else min(usual, ended.took)
        assert workshop.own() == before
        assert workshop.is_sound()
        again = propose(nursery, diff)
        assert again.code == 1, again.stderr
        assert again.json["verdict"]["effect"] == "require_approval"
        assert again.json["branch"] in workshop.branches()
        assert Path(again.json["pull_request"]).exists()
        assert again.json["approval"]["status"] == "pending"
    assert killed >= KILLS / 4
    requests = nursery.run("approvals", "list", "--json").json["requests"]
    assert len(requests) == len({request["digest"] for request in requests}) == KILLS + 2
    assert workshop.own() == before
    assert workshop.is_sound()
    git(project, "fsck", "--strict")


@pytest.mark.req("AP-10", "AU-04", "AU-05")
def test_approval_killed_at_any_moment_is_carried_out_exactly_once(
    project: Path, nursery: Nursery
) -> None:
    workshop, moments = Workshop(project), random.Random(SEED)
    waiting = [ended.json for ended in propose_all(workshop, nursery, KILLS + 2)]
    before, branches = workshop.own(), workshop.branches()
    keys = [each["approval"]["key"] for each in waiting]
    usual = min(nursery.run("approvals", "approve", key).took for key in keys[KILLS:])
    killed = 0
    for each, key in zip(waiting[:KILLS], keys[:KILLS], strict=True):
        ended = nursery.run("approvals", "approve", key, kill_after=moments.uniform(0, usual))
        killed += ended.code == -9
        # A machine that is less busy than before is quicker, too.
        usual = usual if ended.code == -9 else min(usual, ended.took)
        assert workshop.own() == before
        assert workshop.is_sound()
        again = nursery.run("approvals", "approve", key, "--json")
        was_done = again.code == 2 and again.json["error"]["code"] == "approval.consumed"
        assert again.code == 0 or was_done, again.stderr
        assert 'status: "ready"' in Path(each["pull_request"]).read_text()
    assert killed >= KILLS / 4
    assert nursery.run("approvals", "approve", keys[0]).code == 2
    assert workshop.branches() == branches
    assert nursery.run("approvals", "list", "--json").json["counts"]["consumed"] == KILLS + 2
    states = {change["state"] for change in nursery.run("change", "list", "--json").json["changes"]}
    assert states == {"ready"}
    done = [
        record["decision_id"]
        for record in workshop.records()
        if record["decision"] == "carried-out"
    ]
    assert set(done) == {each["verdict"]["decision_id"] for each in waiting}
    assert workshop.own() == before
    assert workshop.is_sound()
