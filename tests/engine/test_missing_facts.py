"""A safety fact that is missing or no such thing stops the change; nothing is put in its place."""

from __future__ import annotations

import json
from typing import Any

import pytest

from support.documents import a_change, a_file, an_act, changed, complete, without
from support.workshop import AUTOMATIC, Workshop
from tipstaff import declared
from tipstaff.engine import Engine
from tipstaff.errors import ContractError
from tipstaff.pdp.client import VERDICT

NEEDED = json.loads((declared.folder("policy") / "tipstaff/guard/data.json").read_text())["needed"]
STOPPED = ("escalate", "deny")
FACTS = [
    (kind, name) for kind in ("change", "control") for name in (*NEEDED["every"], *NEEDED[kind])
]


def ask(engine: Engine, document: dict[str, Any]) -> dict[str, Any]:
    """What policy itself says to a document of any shape."""
    body = json.dumps({"input": document}).encode()
    return engine.policy.client().ask(VERDICT, body).result


def whole(engine: Engine, kind: str = "change") -> dict[str, Any]:
    """A complete document that is allowed."""
    document = a_change() if kind == "change" else an_act()
    team = {"schema_version": 1, "autonomy": AUTOMATIC}
    config = {"team": team, "team_sha256": "1" * 64}
    given = complete(document, engine.policy.revisions())
    return changed(given, **{f"context__config__{name}": value for name, value in config.items()})


@pytest.mark.promise("row 21", "BR-12")
@pytest.mark.req("E-04")
def test_change_that_lacks_a_fact_at_the_highest_tier_escalates(workshop: Workshop) -> None:
    workshop.configure(autonomy=AUTOMATIC)
    assert workshop.decide(a_change()).effect == "allow"
    for document, fact in (
        (a_change(None), "class"),
        (without(a_change(), "action", "class"), "class"),
        (a_change(action__found_capabilities=None), "found_capabilities"),
        (without(a_change(), "action", "found_capabilities"), "found_capabilities"),
    ):
        verdict = workshop.decide(document)
        assert verdict.effect == "escalate"
        assert verdict.codes[0] == f"input.missing:{fact}"
        assert workshop.records()[-1]["decision"] == verdict.effect


@pytest.mark.promise("row 1", "row 21")
@pytest.mark.req("E-04")
@pytest.mark.parametrize(("kind", "name"), FACTS)
def test_each_needed_fact_is_missed_by_name(workshop: Workshop, kind: str, name: str) -> None:
    path = (NEEDED["every"] | NEEDED[kind])[name]
    with workshop.engine() as engine:
        assert ask(engine, whole(engine, kind))["effect"] == "allow"
        verdict = ask(engine, without(whole(engine, kind), *path))
    assert verdict["effect"] in STOPPED
    assert f"input.missing:{name}" in verdict["codes"]


@pytest.mark.promise("BR-17")
@pytest.mark.req("E-04", "T-07")
@pytest.mark.parametrize("evidence", [{"tests": None}, {"sandbox": None}, {}])
def test_change_without_evidence_waits_for_a_person(
    workshop: Workshop, evidence: dict[str, Any]
) -> None:
    workshop.configure(autonomy=AUTOMATIC)
    document = a_change(evidence={**a_change()["evidence"], **evidence} if evidence else {})
    verdict = workshop.decide(document)
    assert verdict.effect == "require_approval"
    assert verdict.codes


@pytest.mark.promise("BR-12", "ahead 4")
@pytest.mark.req("E-04", "E-05")
@pytest.mark.parametrize(
    ("path", "value", "fact"),
    [
        ("action__class", 7, "class"),
        ("action__class", "", "class"),
        ("action__found_capabilities", "raw_shell_execution", "found_capabilities"),
        ("action__found_capabilities", {"raw_shell_execution": True}, "found_capabilities"),
        ("resource__diff_sha256", "3F" * 32, "diff_sha256"),
        ("resource__files", {}, "files"),
        ("resource__files", [a_file(additions_only="yes")], "files"),
        ("resource__files", [a_file(status="renamed")], "files"),
        ("evidence__tests__passed", "12", "tests"),
        ("evidence__sandbox__isolated", "true", "sandbox"),
        ("evidence__sandbox__held", "network write", "sandbox"),
        ("context__actor__type", "root", "actor"),
        ("context__now", "yesterday", "now"),
        ("context__pause__global", "no", "pause"),
        ("context__config__team_sha256", None, "config"),
    ],
)
def test_rego_itself_refuses_a_fact_of_the_wrong_shape(
    workshop: Workshop, path: str, value: Any, fact: str
) -> None:
    with workshop.engine() as engine:
        verdict = ask(engine, changed(whole(engine), **{path: value}))
    assert verdict["effect"] in STOPPED
    assert f"input.invalid:{fact}" in verdict["codes"]


@pytest.mark.req("E-11")
@pytest.mark.parametrize("passed", [12.0, 1.5, -1, 1e2, 2**53])
def test_count_that_is_no_plain_integer_decides_nothing(workshop: Workshop, passed: float) -> None:
    workshop.configure(autonomy=AUTOMATIC)
    document = a_change(evidence__tests__passed=passed)
    if not isinstance(passed, int) or passed < 0:
        with pytest.raises(ContractError) as refused:
            workshop.decide(document)
        assert refused.value.field == "evidence.tests.passed"
        assert workshop.records() == []
    with workshop.engine() as engine:
        verdict = ask(engine, changed(whole(engine), evidence__tests__passed=passed))
    assert verdict["effect"] == "escalate"
    assert verdict["codes"][0] == "input.invalid:tests"


@pytest.mark.req("E-11")
def test_one_failed_test_among_very_many_is_not_rounded_away(workshop: Workshop) -> None:
    workshop.configure(autonomy=AUTOMATIC)
    many = 10**12
    almost = a_change(evidence__tests__passed=many, evidence__tests__failed=1)
    assert workshop.decide(almost).codes == ["tests.failed"]
    assert workshop.decide(a_change(evidence__tests__passed=many)).effect == "allow"
