"""One shape of verdict for every question, and anything less is no verdict."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, get_args

import pytest

from support.documents import a_change, an_act
from support.played_engine import played, says
from support.schemas import accepts, demand
from support.workshop import AUTOMATIC, Workshop
from tipstaff.documents.base import Effect
from tipstaff.documents.verdict import Verdict

OTHER = {
    "schema_version": 1,
    "subject": {"id": "alice"},
    "action": {"type": "send_email", "cost": {"amount": 0, "currency": "USD"}},
    "resource": {"id": "mail:123"},
}
UNJUDGED = ["action", "sandbox", "tier_change"]
EXAMPLES = Path(__file__).parents[2] / "contracts/examples"


def plain(verdict: Verdict) -> dict[str, Any]:
    """The verdict as JSON."""
    value: dict[str, Any] = json.loads(verdict.model_dump_json(by_alias=True))
    return value


def an_example(kind: str, effect: str) -> dict[str, Any]:
    """The example of a kind with that effect, without a context."""
    example: dict[str, Any] = json.loads((EXAMPLES / f"{kind}-{effect}.input.json").read_bytes())
    del example["context"]
    return example


@pytest.mark.req("E-06")
def test_every_kind_of_question_gets_a_verdict_of_one_shape(workshop: Workshop) -> None:
    workshop.configure(autonomy={**AUTOMATIC, "heal_warning": "off"})
    documents = [
        (a_change(), "allow"),
        (a_change("heal_breaking"), "require_approval"),
        (a_change(action__found_capabilities=None), "escalate"),
        (a_change("heal_warning"), "deny"),
        (an_act("approve"), "allow"),
        (an_act("fly"), "deny"),
        (an_act(None), "deny"),
        *(
            (an_example(kind, effect), effect)
            for kind in ("contract", "modification")
            for effect in get_args(Effect)
        ),
        *(({**OTHER, "kind": kind}, "deny") for kind in UNJUDGED),
    ]
    for document, effect in documents:
        verdict = workshop.decide(document)
        demand("verdict", plain(verdict))
        assert (verdict.kind, verdict.effect) == (document["kind"], effect)
        assert verdict.codes or verdict.effect == "allow"
        assert verdict.matched_rules
        assert verdict.policy.revision
    with workshop.engine() as engine:
        verdicts = engine.decide_many([document for document, _ in documents])
    assert [verdict.effect for verdict in verdicts] == [effect for _, effect in documents]


@pytest.mark.req("E-06")
@pytest.mark.parametrize("kind", UNJUDGED)
def test_kind_that_no_rules_judge_is_denied_by_name(workshop: Workshop, kind: str) -> None:
    answer = workshop.run(
        "decide", "-", "--json", stdin=json.dumps({**OTHER, "kind": kind}).encode()
    )
    assert answer.code == 1
    assert answer.json["codes"] == [f"input.kind_unknown:{kind}"]


@pytest.mark.req("E-06")
@pytest.mark.parametrize(
    "lacks",
    ["effect", "confirmations", "codes", "reasons", "matched_rules", "obligations", "policy"],
)
def test_verdict_that_lacks_a_part_is_no_verdict(workshop: Workshop, lacks: str) -> None:
    verdict = plain(workshop.decide(a_change()))
    assert accepts("verdict", verdict)
    del verdict[lacks]
    assert not accepts("verdict", verdict)


def sound(workshop: Workshop, **changes: Any) -> Any:
    """A verdict on ``a_change`` as an engine might give it, for the id that the question has."""
    verdict = plain(workshop.decide(a_change())) | {"effect": "allow", "confirmations": 0}
    policy = {key: text for key, text in verdict["policy"].items() if key != "opa_version"}
    return {**verdict, "codes": [], "reasons": [], "policy": policy, "obligations": [], **changes}


REASON = {"code": "x", "message": "m", "rule": "r", "solution": "s"}


@pytest.mark.req("EX-03", "E-03")
@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"matched_rules": []}, "engine.invalid"),
        ({"effect": "maybe"}, "engine.invalid"),
        ({"effect": "ALLOW"}, "engine.invalid"),
        ({"effect": "deny"}, "engine.invalid"),
        ({"effect": "deny", "codes": ["x"]}, "engine.invalid"),
        ({"codes": ["x"], "reasons": [{**REASON, "code": "y"}]}, "engine.invalid"),
        ({"confirmations": 1}, "engine.invalid"),
        ({"effect": "require_approval", "codes": ["x"], "reasons": [REASON]}, "engine.invalid"),
        ({"extra": 1}, "engine.invalid"),
        ({"kind": "control"}, "engine.invalid"),
        ({"decision_id": "another"}, "engine.invalid"),
        ({"policy": None}, "engine.invalid"),
        ({"obligations": [{"id": "open_pull_request"}]}, "engine.invalid"),
        ({"obligations": [{"id": "make_coffee"}]}, "obligation.unknown"),
        ({"obligations": ["open_pull_request"]}, "obligation.unknown"),
    ],
)
def test_verdict_that_is_not_whole_is_a_deny(
    workshop: Workshop,
    monkeypatch: pytest.MonkeyPatch,
    changes: dict[str, Any],
    code: str,
) -> None:
    monkeypatch.setattr("tipstaff.engine.engine.new_id", lambda: "the-id")
    good = sound(workshop)
    with played(workshop, monkeypatch, says(good)):
        assert workshop.decide(a_change()).effect == "allow"
    with played(workshop, monkeypatch, says({**good, **changes})):
        verdict = workshop.decide(a_change())
    assert (verdict.effect, verdict.codes) == ("deny", [code])
    assert workshop.entries()[-1] == "deny"
