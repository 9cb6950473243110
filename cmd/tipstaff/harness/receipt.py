"""The receipt of a judged modification: what the verdict and the facts say, written as one document."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from tipstaff.documents.base import Json, parse
from tipstaff.documents.governed import Receipt, RollbackStep
from tipstaff.documents.modification import ModificationInput, StoredApproval
from tipstaff.documents.numbers import decimal
from tipstaff.documents.verdict import Verdict
from tipstaff.harness import rollback
from tipstaff.harness.facts import Known
from tipstaff.project import timestamp

_NUMBERS = ("max_risk", "canary_risk", "tolerance", "min_effect")
_STAGES = ("gate", "proof", "approval", "evidence", "promotion", "rollback")


def receipt(verdict: Verdict, document: ModificationInput, known: Known) -> Receipt:
    """What may be said of the modification now; without an answer of policy it is deferred, and no stage passed."""
    given, facts = known.specification, verdict.facts
    outcome = facts.get("outcome", "defer") if verdict.is_answered else "defer"
    settings = facts.get("settings") or {}
    whole = {
        "schema_version": 1,
        "promoted": verdict.is_allowed and outcome == "promote",
        "outcome": outcome,
        "codes": verdict.codes,
        "artifact_id": given.spec.artifact_id,
        "modification_id": given.spec.modification.modification_id,
        "target": given.spec.modification.target,
        "stages": _stages(facts, document),
        "reasons": [reason.model_dump() for reason in verdict.reasons],
        "rules_effective": _readable(settings.get("rules") or {}),
        "gate_effective": _readable(settings.get("gate") or {}),
        "clamped": {
            name: f"{_shown(name, both['holds'])} (clamped from {_shown(name, both['asked'])})"
            for name, both in (settings.get("clamped") or {}).items()
        },
        "notes": _notes(known),
        "spec_sha256": given.sha256,
        "source_sha256": given.source_sha256,
        "before_sha256": given.before.sha256,
        "after_sha256": given.after.sha256,
        "content_sha256": document.resource.content_sha256,
        "effect": _effect(facts.get("effect")),
        "proof": known.proof.model_dump() if known.proof else None,
        "approval": _approval(known.approval),
        "rehearsal": known.rehearsal.model_dump() if known.rehearsal else None,
        "rollback_plan": _plan(known),
        "policy": verdict.policy.model_dump(),
        "decision_id": verdict.decision_id,
        "created_at": timestamp(),
    }
    return parse(Receipt, whole)


def _stages(facts: Json, document: ModificationInput) -> list[Json]:
    found = facts.get("stages") or [{"name": name, "status": "skipped"} for name in _STAGES]
    details = {
        "gate": "evidence of a canary is asked for" if facts.get("needs_canary") else "",
        "proof": document.evidence.proof.detail if document.evidence.proof else "",
        "rollback": document.evidence.rehearsal.detail if document.evidence.rehearsal else "",
    }
    return [
        {**stage, "detail": "" if stage["status"] == "skipped" else details.get(stage["name"], "")}
        for stage in found
    ]


def _readable(settings: Json) -> Json:
    return {name: _shown(name, value) for name, value in settings.items()}


def _shown(name: str, value: object) -> object:
    return decimal(value) if name in _NUMBERS and isinstance(value, int) else value


def _effect(effect: Json | None) -> Json | None:
    if not effect or not effect["tasks"]:
        return None
    return {
        "mean": decimal(round(Fraction(effect["sum"], effect["tasks"]))),
        "n": effect["tasks"],
        "per_task": {task: decimal(value) for task, value in effect["per_task"].items()},
    }


def _approval(approval: StoredApproval | None) -> Json | None:
    if approval is None:
        return None
    return {
        "key": approval.key,
        "status": approval.status,
        "decided_by": approval.decided_by.id if approval.decided_by else None,
        "decided_at": approval.decided_at,
        "note": approval.note,
    }


def _plan(known: Known) -> Sequence[RollbackStep] | None:
    given = known.specification
    if given.current is None or given.previous is None:
        return None
    return rollback.plan(given.current, given.previous)


def _notes(known: Known) -> list[str]:
    spec = known.specification.spec
    notes = [f"asked by reference: {reference}" for reference in known.specification.references]
    if spec.risk is not None and spec.risk != spec.modification.risk:
        notes.append("risk and modification.risk differ; the higher one is judged")
    if known.specification.before.producer is None or known.specification.after.producer is None:
        notes.append("scores are caller_asserted: nobody stands for them")
    extra = sorted(
        known.specification.after.scores.keys() - known.specification.before.scores.keys()
    )
    if extra:
        notes.append(f"tasks that were not measured before are not counted: {', '.join(extra[:5])}")
    return notes
