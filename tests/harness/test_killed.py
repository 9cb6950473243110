"""A run that is killed anywhere is run again, to the same end: nothing is half written, no id stands for two sources.

What the trail and the store hold afterwards is all that the next run goes by.
"""

from __future__ import annotations

import random
from collections import Counter
from functools import partial
from pathlib import Path

import pytest

from support.figures import dice, figure
from support.harness_scene import PERSON, Scene
from support.racing import race
from tipstaff.documents.governed import Receipt
from tipstaff.errors import ContractError, EvidenceError
from tipstaff.harness.specification import Specification
from tipstaff.ledger.modifications import Modifications

SOURCES = ("def f(x):\n    return x + 1\n", "def f(x):\n    return x + 2\n")
RACERS = 8
# What the next run comes to, by how the store says that the request stands.
FOLLOWS = {
    "none": "defer",
    "pending": "defer",
    "rejected": "reject",
    "approved": "promote",
}


def key_of(receipt: Receipt) -> str:
    """The key of the request that a receipt names."""
    assert receipt.approval is not None
    return receipt.approval.key


@pytest.mark.promise("A3", "BR-20", "row 76", "ahead 11")
def test_promotion_killed_at_each_durable_act_is_made_by_the_next_run(tmp_path: Path) -> None:
    with Scene(tmp_path) as scene:
        first = scene.write(modification__modification_id="counted")
        scene.approve(key_of(scene.run(first)))
        acts = scene.acts()
        scene.demand_earned()
        killed: list[str | None] = []
        for point in range(acts):
            given = scene.write(modification__modification_id=f"m{point}")
            key = key_of(scene.run(given))
            scene.approve(key)
            killed.append(scene.killed_at(point))
            scene.demand_whole_receipt()
            assert scene.run(given).outcome == "promote"
            scene.demand_earned()
        assert {"write", "fsync", "link", "replace"} <= set(killed)


@pytest.mark.promise("BR-31", "A3")
@pytest.mark.parametrize("is_approved", [False, True])
def test_run_killed_within_a_write_is_nobodys_yes(tmp_path: Path, is_approved: bool) -> None:
    with Scene(tmp_path) as scene:
        first = scene.write(modification__modification_id="counted")
        if is_approved:
            scene.approve(key_of(scene.run(first)))
        killed, torn = 0, 0
        for point in range(scene.acts()):
            given = scene.write(modification__modification_id=f"m{point}")
            if is_approved:
                scene.approve(key_of(scene.run(given)))
            if scene.killed_at(point, torn=True) != "write":
                continue
            killed += 1
            if scene.is_torn():
                torn += 1
                demand_undecided(scene, given)
            assert scene.run(given).outcome == ("promote" if is_approved else "defer")
            scene.demand_earned()
        assert (killed, torn) == ((1, 0) if is_approved else (2, 1)), "the trail, and who asks"


def demand_undecided(scene: Scene, given: Specification) -> None:
    """A torn line of the store decides nothing and is named; then a person takes it away."""
    with pytest.raises(EvidenceError) as caught:
        scene.run(given)
    assert caught.value.code == "store.corrupt"
    assert (caught.value.field or "").startswith("line ")
    scene.mend()


@pytest.mark.promise("row 76")
def test_request_killed_at_each_durable_act_is_made_once(tmp_path: Path) -> None:
    with Scene(tmp_path) as scene:
        scene.write(modification__modification_id="counted")
        for point in range(scene.acts()):
            given = scene.write(modification__modification_id=f"m{point}")
            scene.killed_at(point)
            key = key_of(scene.run(given))
            asked = [one for one in scene.events() if one["key"] == key]
            assert [one["event"] for one in asked] == ["request"]
        assert not scene.promoted()


@pytest.mark.promise("ahead 11", "A7", "T1")
@figure("steps", commit=120, full=3_000)
def test_state_after_any_order_of_acts_and_kills_is_what_trail_and_store_say(
    tmp_path: Path, steps: int
) -> None:
    with Scene(tmp_path) as scene:
        walk = Walk(scene, dice())
        for _ in range(steps):
            walk.step()
        print(dict(walk.seen))
        assert {"promote", "defer", "reject", "id_reused", "killed"} <= set(walk.seen)


@pytest.mark.promise("A7", "BR-20")
@figure("rounds", commit=3, full=100)
def test_many_runs_at_once_come_to_the_same_by_one_approval(tmp_path: Path, rounds: int) -> None:
    with Scene(tmp_path) as scene:
        for number in range(rounds):
            given = scene.write(modification__modification_id=f"m{number}")
            key = key_of(scene.run(given))
            scene.approve(key)
            ends = race([partial(scene.run_alone, given)] * RACERS)
            assert ends == [("done", 0)] * RACERS
            of_this = [one for one in scene.promoted() if one["modification_id"] == f"m{number}"]
            assert len({one["content_sha256"] for one in of_this}) == 1
            assert [one["event"] for one in scene.events() if one["key"] == key] == [
                "request",
                "decision",
            ]


@pytest.mark.promise("A7", "row 85")
@figure("rounds", commit=3, full=100)
def test_of_two_sources_that_race_for_one_id_one_is_promoted(tmp_path: Path, rounds: int) -> None:
    with Scene(tmp_path) as scene:
        for number in range(rounds):
            both = [
                scene.write(
                    approval_store=...,
                    modification__modification_id=f"m{number}",
                    modification__source=source,
                )
                for source in SOURCES
            ]
            ends = race([partial(scene.run_alone, given) for given in both * (RACERS // 2)])
            assert set(ends) == {("done", 0), ("modification.id_reused", 2)}
            of_this = [one for one in scene.promoted() if one["modification_id"] == f"m{number}"]
            assert len({one["source_sha256"] for one in of_this}) == 1


class Walk:
    """Random acts upon a scene: other content, runs, runs that are killed, decisions."""

    def __init__(self, scene: Scene, chance: random.Random) -> None:
        self.scene, self.chance = scene, chance
        self.seen: Counter[str] = Counter()
        self.age = 0
        self.choose()

    def choose(self) -> None:
        """Another content: one of two sources under one of two ids of this age."""
        self.source = self.chance.choice(SOURCES)
        self.name = f"m{self.age}-{self.chance.randrange(2)}"
        self.given = self.scene.write(
            modification__modification_id=self.name, modification__source=self.source
        )
        self.key: str | None = None

    def step(self) -> None:
        """One act, and what has to hold after it."""
        act = self.chance.choices(
            [self.choose, self.run, self.kill, self.approve, self.reject, self.grow_older],
            [1, 4, 4, 5, 2, 1],
        )[0]
        act()

    def grow_older(self) -> None:
        """Go on with ids that nobody has used."""
        self.age += 1
        self.choose()

    def run(self) -> None:
        """A run to its end: what it comes to follows from the store, and from whom the id stands for."""
        kept = Modifications(self.scene.engine.project.state).source("harness-1", self.name)
        status = self.scene.status(self.key) if self.key else None
        if kept not in (None, self.given.source_sha256):
            with pytest.raises(ContractError, match="another source"):
                self.scene.run(self.given)
            self.seen["id_reused"] += 1
            return
        receipt = self.scene.run(self.given)
        if status is not None:
            assert receipt.outcome == FOLLOWS[status]
        self.key = key_of(receipt)
        self.seen[receipt.outcome] += 1
        self.scene.demand_earned()

    def kill(self) -> None:
        """A run that is killed somewhere; a line of the store that it left torn is nobody's yes, and named."""
        if self.key and self.scene.status(self.key) == "pending" and self.chance.random() < 0.5:
            self._decide("approve")
        named = self.scene.killed_at(self.chance.randrange(18), torn=self.chance.random() < 0.5)
        self.seen["killed" if named else "ended"] += 1
        self.scene.demand_whole_receipt()
        if self.scene.is_torn():
            self.seen["torn"] += 1
            demand_undecided(self.scene, self.given)
        self.scene.demand_earned()

    def approve(self) -> None:
        """A person approves what is pending, and nothing else; more often than not, a run follows."""
        self._decide("approve")
        if self.chance.random() < 0.6:
            self.run()

    def reject(self) -> None:
        """A person rejects it."""
        self._decide("reject")

    def _decide(self, verb: str) -> None:
        if self.key is None:
            return
        act = {"approve": self.scene.store.approve, "reject": self.scene.store.reject}[verb]
        if self.scene.status(self.key) == "pending":
            act(self.key, PERSON)
        else:
            before = self.scene.store.path.read_bytes()
            with pytest.raises(ContractError):
                act(self.key, PERSON)
            assert self.scene.store.path.read_bytes() == before
