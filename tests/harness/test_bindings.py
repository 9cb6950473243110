"""What a person approved is what is promoted: any other byte, time, person or policy takes another approval."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from support.edited_policy import edit_data, put_in_place
from support.figures import dice, figure
from support.harness_known import BOB, CAROL, approved, changed, content, judged, known
from support.harness_scene import Scene
from tipstaff import declared
from tipstaff.documents.context import Actor
from tipstaff.documents.modification import ModificationInput
from tipstaff.errors import ContractError
from tipstaff.harness.facts import document
from tipstaff.project import timestamp, utc_now


def _text(chance: random.Random) -> str:
    return "".join(chance.choices("abcdef", k=6))


def _number(chance: random.Random) -> float:
    return chance.randrange(1, 90) / 1000


Change = Callable[[dict[str, Any], random.Random], None]


def _at(path: str, make: Callable[[random.Random], Any]) -> Change:
    def change(spec: dict[str, Any], chance: random.Random) -> None:
        *above, name = path.split("/")
        place = spec
        for step in above:
            place = place[step]
        place[name] = make(chance)

    return change


CHANGES: dict[str, Change] = {
    "artifact": _at("artifact_id", _text),
    "id": _at("modification/modification_id", _text),
    "source": _at(
        "modification/source", lambda chance: f"def f(x):\n    return {_text(chance)!r}\n"
    ),
    "target": _at("modification/target", lambda chance: f"harness/{_text(chance)}.py"),
    "capabilities": _at("modification/requested_capabilities", lambda chance: [_text(chance)]),
    "risk": _at("modification/risk", _number),
    "deployment risk": _at("risk", _number),
    "a score before": _at("before/parse", lambda chance: 0.8 - _number(chance)),
    "a task before": _at("before/more", _number),
    "a score after": _at("after/plan", lambda chance: 0.73 + _number(chance)),
    "a task after": _at("after/more", _number),
    "highest risk": _at("gate/max_risk", lambda chance: round(0.3 + _number(chance), 3)),
    "canary risk": _at("gate/canary_risk", lambda chance: round(0.1 + _number(chance), 3)),
    "tolerance": _at("gate/tolerance", _number),
    "imports": _at("gate/denied_imports", lambda chance: [_text(chance)]),
    "calls": _at("gate/denied_calls", lambda chance: [_text(chance)]),
    "least effect": _at("rules/min_effect", lambda chance: round(_number(chance) / 10, 4)),
    "tasks": _at("rules/min_tasks", lambda chance: chance.randrange(2, 5000)),
    "a rule": _at("rules/require_canary", lambda chance: True),
    "trial": _at("evidence", lambda chance: {"conformal": chance.choice(["accept", "undecided"])}),
    "the other trial": _at("evidence", lambda chance: {"sequential": "accept"}),
    "content to go back from": _at("rollback_current/more", _text),
    "content to go back to": _at("rollback_previous/more", _text),
    "prover": _at("prover", lambda chance: f"{_text(chance)}:{_text(chance)}"),
    "contaminated": _at("contaminated", lambda chance: True),
}


@pytest.mark.req("HP-15")
@pytest.mark.promise("A1", "T1", "BR-10", "BR-19", "row 71", "row 72")
@figure("times", commit=40, full=800)
def test_single_change_is_covered_by_no_approval_of_what_was_before(
    folder: Path, times: int
) -> None:
    chance = dice()
    with Scene(folder) as scene:
        before = known(scene, changed())
        digest = content(scene, before)
        assert judged(scene, before).is_allowed
        seen = {digest}
        for name, change in CHANGES.items():
            asked: list[ModificationInput] = []
            for _ in range(times):
                spec = changed()
                while spec == changed():
                    change(spec, chance)
                other = document(
                    replace(known(scene, spec), approval=approved(digest)), scene.engine
                )
                assert other.resource.content_sha256 != digest, name
                seen.add(str(other.resource.content_sha256))
                asked.append(other)
            for start in range(0, times, 40):
                verdicts = scene.engine.evaluate(asked[start : start + 40])
                assert not any(verdict.is_allowed for verdict in verdicts), name
        assert len(seen) > len(CHANGES)


@pytest.mark.req("HP-15", "AP-05")
@pytest.mark.promise("A1", "row 72")
def test_approval_is_of_who_asked(folder: Path) -> None:
    with Scene(folder) as scene:
        digest = content(scene, known(scene, changed()))
        other = known(scene, changed(), subject=CAROL)
        assert content(scene, other) != digest
        asked = document(replace(other, approval=approved(digest)), scene.engine)
        assert not scene.engine.evaluate([asked])[0].is_allowed


@pytest.mark.req("HP-15", "HS-18")
@pytest.mark.promise("T1", "ahead 8", "BR-14", "row 72")
@pytest.mark.parametrize("what", ["the team's file", "the bundle"])
def test_policy_that_changes_after_the_approval_takes_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    with Scene(tmp_path) as scene:
        given = scene.write()
        first = scene.run(given)
        assert first.approval is not None
        scene.approve(first.approval.key)
    if what == "the bundle":
        edits = {"modification/settings": lambda data: data["most"].update(tolerance=40_000_000)}
        put_in_place(edit_data(tmp_path / "edited", edits), monkeypatch)
    else:
        (tmp_path / "tipstaff.yaml").write_text("schema_version: 1\nharness: {max_risk: 0.4}\n")
    with Scene(tmp_path) as scene:
        second = scene.run(given)
        assert second.approval is not None
        assert (second.outcome, second.approval.key != first.approval.key) == ("defer", True)
        assert second.policy.revision != first.policy.revision or what == "the team's file"
        assert not scene.promoted()


@pytest.mark.req("AP-08", "AP-10")
@pytest.mark.promise("A4", "BR-21", "row 73", "row 70")
def test_approval_counts_in_its_time_once_and_given_by_a_person(folder: Path) -> None:
    now = utc_now()
    with Scene(folder) as scene:
        asked = known(scene, changed())
        assert judged(scene, asked).is_allowed
        for facts in (
            {"expires_at": timestamp(now)},
            {"expires_at": timestamp(now - timedelta(milliseconds=5))},
            {"expires_at": None},
            {"decided_at": timestamp(now + timedelta(minutes=6))},
            {"status": "consumed"},
            {"status": "expired"},
            {"status": "pending"},
            {"status": "none"},
            {"status": "Approved"},
            {"digest": "0" * 64},
            {"digest": None},
            {"decided_by": None},
            {"decided_by": Actor(id=BOB, type=None)},
        ):
            verdict = judged(scene, asked, **facts)
            assert verdict.facts["outcome"] == "defer", (facts, verdict.codes)


@pytest.mark.req("AP-05", "HP-13")
@pytest.mark.promise("A5", "ahead 13", "row 77", "BR-22")
def test_who_proposes_who_approves_and_who_measures_are_different_people(folder: Path) -> None:
    (folder / "tipstaff.yaml").write_text("schema_version: 1\napprovals: {four_eyes: true}\n")
    people = ("alice", "bob", "carol", "dave")
    with Scene(folder) as scene:
        passed = set()
        for proposer in people:
            for approver in people:
                for measurer in people:
                    for kind in ("human", "agent", "ci"):
                        spec = changed()
                        asked = known(scene, spec, subject=f"{proposer}@desk")
                        source = asked.specification.source_sha256
                        for side in ("before", "after"):
                            spec[side] = {
                                "scores": spec[side],
                                "producer": f"{measurer.title()}@lab",
                                "source_sha256": source,
                            }
                        asked = known(scene, spec, subject=f"{proposer}@desk")
                        verdict = judged(
                            scene,
                            asked,
                            requested_by=Actor(id=f"{proposer}@desk", type="agent"),
                            decided_by=Actor(id=f"{approver.upper()}@home", type=kind),
                        )
                        if verdict.is_allowed:
                            passed.add((proposer, approver, measurer, kind))
        assert passed == {
            (one, two, three, "human")
            for one in people
            for two in people
            for three in people
            if len({one, two, three}) == 3
        }


@pytest.mark.promise("A5", "row 78", "BR-22")
def test_specification_cannot_say_who_approved(folder: Path) -> None:
    with Scene(folder) as scene:
        for name in ("approved_by", "decided_by", "approval", "subject", "proposer", "context"):
            for spec in (changed(**{name: BOB}), changed(**{f"modification__{name}": BOB})):
                with pytest.raises(ContractError) as caught:
                    known(scene, spec)
                assert (caught.value.field or "").endswith(name)


@pytest.mark.req("HR-03")
@pytest.mark.promise("ahead 12")
def test_rollback_that_restores_all_but_one_mode_is_refused(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    current = {"a.py": "new", "b.sh": {"content": "s", "mode": "0644"}, "new/c.py": "c"}
    previous = {"a.py": "old", "b.sh": {"content": "s", "mode": "0755"}, "gone/d.py": "d"}
    both = {"rollback_current": current, "rollback_previous": previous}
    spec = {"approval_store": ..., "rules": {"require_rehearsal": True}, **both}
    with Scene(folder) as scene:
        whole = scene.run(scene.write(**spec))
        assert (whole.outcome, whole.rehearsal and whole.rehearsal["restored"]) == ("promote", True)
        _forget_a_mode(folder / "sandbox", monkeypatch)
        refused = scene.run(scene.write(**spec, modification__modification_id="m2"))
        assert (refused.outcome, refused.codes) == ("reject", ["rollback.rehearsal"])
        assert refused.rehearsal is not None
        assert refused.rehearsal["detail"] == "b.sh"


def _forget_a_mode(target: Path, patch: pytest.MonkeyPatch) -> None:
    """A rehearsal that leaves out one ``chmod``."""
    usual = declared.folder
    shutil.copytree(usual("sandbox"), target)
    script = target / "harness/rehearsal.py"
    text = script.read_text()
    line = '    beside.chmod(int(state["mode"], 8))\n'
    assert text.count(line) == 1
    script.write_text(text.replace(line, "    beside.chmod(0o644)\n"))
    patch.setattr(declared, "folder", lambda name: target if name == "sandbox" else usual(name))
