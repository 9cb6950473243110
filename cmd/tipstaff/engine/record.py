"""What the trail keeps of a decision."""

from __future__ import annotations

from tipstaff.documents.base import Json
from tipstaff.documents.context import Actor
from tipstaff.documents.verdict import RecordClamp, Verdict
from tipstaff.engine.question import Question
from tipstaff.ledger.trail import NewRecord


def decision(verdict: Verdict, question: Question, actor: Actor) -> NewRecord:
    """The record of a verdict, with the explanation that lets a person understand and correct it."""
    document = question.document
    tier = verdict.facts.get("tier")
    sandbox = document["evidence"].get("sandbox")
    return NewRecord(
        decision=verdict.effect,
        target=target(document),
        detail=_explanation(verdict, document),
        actor=actor,
        action_class=document["action"].get("class"),
        autonomy_tier=tier["effective"] if tier else None,
        sandbox_backend=sandbox["backend"] if sandbox else None,
        decision_id=verdict.decision_id,
        codes=tuple(verdict.codes),
        bundle_revision=verdict.policy.revision or None,
        input_sha256=question.sha256,
    )


def clamps(verdict: Verdict, question: Question, actor: Actor) -> list[NewRecord]:
    """The records that the verdict obliges us to add where a local wish met the team's ceiling."""
    return [
        NewRecord(
            decision="blocked-by-ceiling",
            target=target(question.document),
            detail={"requested": obligation.requested, "ceiling": obligation.ceiling},
            actor=actor,
            action_class=obligation.action_class,
            autonomy_tier=obligation.ceiling,
            decision_id=verdict.decision_id,
            bundle_revision=verdict.policy.revision,
        )
        for obligation in verdict.obligations
        if isinstance(obligation, RecordClamp)
    ]


def target(document: Json) -> str:
    """What a document is about, in a few words."""
    resource = document["resource"]
    if document["kind"] == "change":
        return f"diff:{resource['diff_sha256'][:12]}"
    name = resource.get("id")
    return name if isinstance(name, str) else str(document["kind"])


def _explanation(verdict: Verdict, document: Json) -> Json:
    solutions = dict.fromkeys(reason.solution for reason in verdict.reasons)
    return {
        "event": {
            key: document[key]
            for key in ("schema_version", "kind", "subject", "action", "resource")
        },
        "evidence": document["evidence"],
        "preferences": document["context"],
        "outcome": verdict.model_dump(by_alias=True),
        "correction": list(solutions) or ["run `tipstaff explain` with this decision's id"],
        "untrusted": ["event", "evidence"],
    }
