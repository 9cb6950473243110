"""`tipstaff explain` says what would alter a verdict, and asks again with facts changed."""

from __future__ import annotations

import json
from typing import Any

import pytest

from support.documents import a_change, an_act
from support.rego import annotations
from support.workshop import AUTOMATIC, Workshop
from tipstaff import declared
from tipstaff.pdp.opa import Opa


def decided(workshop: Workshop, **changes: Any) -> str:
    """The id of a decision about a change with these facts, where tests are enough."""
    workshop.configure(autonomy=AUTOMATIC, approval_gates={"require_human": []})
    return workshop.decide(a_change(**changes)).decision_id


@pytest.mark.req("EX-04")
def test_reason_names_what_its_fact_needs_and_has_and_the_change_that_alters_the_verdict(
    workshop: Workshop,
) -> None:
    told = workshop.run("explain", decided(workshop, evidence__tests__failed=3))
    assert told.code == 0
    assert "tests.failed: evidence.tests.failed needs 0, has 3" in told.stdout
    assert "evidence.tests.failed = 0  gives allow" in told.stdout


@pytest.mark.req("EX-04")
def test_reasons_that_only_fall_together_are_told_together(workshop: Workshop) -> None:
    workshop.configure(approval_gates={"require_human": ["heal_additive"]})
    verdict = workshop.decide(a_change())
    told = workshop.run("explain", verdict.decision_id)
    assert "none of these alone; all of them together give allow" in told.stdout
    report = workshop.run("explain", verdict.decision_id, "--json").json["would_alter"]
    assert {fact["code"] for fact in report["facts"]} == {"gate.require_human", "tier.propose"}
    assert report["alternatives"] == []


@pytest.mark.req("EX-04")
def test_changed_fact_gives_the_new_verdict_beside_the_old_and_nothing_is_recorded(
    workshop: Workshop,
) -> None:
    name = decided(workshop, evidence__tests__failed=3)
    before = workshop.records()
    told = workshop.run("explain", name, "--what-if", "evidence.tests.failed=0")
    assert told.code == 0
    assert "evidence.tests.failed: 3 -> 0" in told.stdout
    assert "require_approval -> allow" in told.stdout
    assert "gone: tests.failed" in told.stdout
    assert "nothing can be carried out on it" in told.stderr
    changes = ("--what-if", "/evidence/tests/failed=0", "--what-if", "action.class=augment")
    found = workshop.run("explain", name, *changes, "--json").json["what_if"]
    assert (found["now"]["effect"], found["then"]["effect"]) == ("require_approval",) * 2
    assert (found["went"], found["came"]) == (["tests.failed"], ["tier.propose"])
    assert found["changes"][1] == {
        "fact": "action.class",
        "was": "heal_additive",
        "value": "augment",
    }
    assert workshop.records() == before


def test_setting_that_the_team_never_wrote_can_be_supposed(workshop: Workshop) -> None:
    name = decided(workshop)
    setting = 'context.config.team.paths.read_only=["skills/**"]'
    found = workshop.run("explain", name, "--what-if", setting, "--json").json["what_if"]
    assert (found["then"]["effect"], found["came"]) == ("deny", ["path.read_only"])


def test_approval_does_not_survive_a_changed_fact(workshop: Workshop) -> None:
    proposed = workshop.propose()
    assert proposed.effects.approval is not None
    workshop.approve(proposed.effects.approval.key)
    name = [line["decision_id"] for line in workshop.records() if line["decision"] == "allow"][-1]
    same = ("--what-if", 'context.actor.type="human"')
    assert _then(workshop, name, *same)["effect"] == "allow"
    other = _then(
        workshop, name, "--what-if", "evidence.tests=null", "--what-if", "resource.files.0.added=9"
    )
    assert "approval.stale" in other["codes"]


@pytest.mark.parametrize(
    ("change", "code", "field", "words"),
    [
        ("evidence.tests.faild=0", "fact.unknown", "evidence.tests.faild", "evidence.tests.failed"),
        ("resource.files.7.path=x", "fact.unknown", "resource.files.7.path", "resource.files"),
        ("evidence.tests.failed=many", "document.invalid", "evidence.tests.failed", "correct"),
        ("evidence.tests.failed=-1", "document.invalid", "evidence.tests.failed", "correct"),
        (
            "context.config.team.autonomi={}",
            "document.invalid",
            "context.config.team.autonomi",
            "autonomi",
        ),
        ("context.judged_sha256=x", "fact.computed", "context.judged_sha256", "change one"),
        (
            "evidence.tests.failed.deep=1",
            "fact.unknown",
            "evidence.tests.failed.deep",
            "evidence.tests.failed",
        ),
        ("colour.of.the.sky=blue", "fact.unknown", "colour.of.the.sky", "`explain` shows"),
        ("no-equals-sign", "fact.unknown", "no-equals-sign", "name a fact"),
        ("=1", "fact.unknown", None, "name a fact"),
    ],
)
def test_change_that_cannot_be_is_refused_by_name(
    workshop: Workshop, change: str, code: str, field: str | None, words: str
) -> None:
    name = decided(workshop)
    refused = workshop.run("explain", name, "--what-if", change, "--json")
    assert refused.code == 2
    error = refused.json["error"]
    assert (error["code"], error["field"]) == (code, field)
    assert words in error["fix"]


def test_first_characters_of_an_id_are_enough_where_they_name_one_decision(
    workshop: Workshop,
) -> None:
    name = decided(workshop)
    other = workshop.decide(an_act()).decision_id
    shared = next(
        place for place, pair in enumerate(zip(name, other, strict=True)) if len({*pair}) > 1
    )
    assert workshop.run("explain", name[: shared + 1], "--json").json["decision_id"] == name
    for cut, code in ((shared, "trail.ambiguous"), (4, "trail.ambiguous")):
        refused = workshop.run("explain", name[:cut], "--json")
        assert (refused.code, refused.json["error"]["code"]) == (2, code)


def test_decision_is_explained_also_where_policy_cannot_be_asked(workshop: Workshop) -> None:
    name = decided(workshop)
    (workshop.root / "policy.tar.gz").write_bytes(b"damaged")
    told = workshop.run("explain", name)
    assert told.code == 0
    assert "tier.auto_if_tests_pass" in told.stdout
    assert "note: what would alter it cannot be told" in told.stderr
    assert workshop.run("explain", name, "--what-if", "evidence.tests=null").code == 3


def test_facts_are_named_for_codes_that_exist(opa: Opa) -> None:
    file = declared.folder("policy") / "tipstaff/explanation/data.json"
    codes = {note["annotations"].get("custom", {}).get("code") for note in annotations(opa)}
    assert set(json.loads(file.read_text())["facts"]) <= codes


def _then(workshop: Workshop, name: str, *changes: str) -> dict[str, Any]:
    found = workshop.run("explain", name, *changes, "--json")
    assert found.code == 0, found.stderr
    return dict(found.json["what_if"]["then"])
