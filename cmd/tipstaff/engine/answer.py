"""From what OPA answered to a verdict that can be relied on; anything less becomes a refusal."""

from __future__ import annotations

from typing import Any

from pydantic import ValidationError

from tipstaff.documents.base import Effect
from tipstaff.documents.codes import CODES
from tipstaff.documents.verdict import OBLIGATIONS, PolicyIdentity, Reason, Verdict
from tipstaff.engine.question import Question
from tipstaff.errors import DecisionError, EvidenceError


def check(result: Any, question: Question, opa_version: str) -> Verdict:
    """The verdict in an answer. Raises ``DecisionError`` where it is not exactly one valid verdict on the question."""
    if not isinstance(result, dict) or not isinstance(result.get("policy"), dict):
        raise invalid("it is not a verdict")
    obligations = result.get("obligations")
    for obligation in obligations if isinstance(obligations, list) else []:
        name = obligation.get("id") if isinstance(obligation, dict) else None
        if name not in OBLIGATIONS:
            raise DecisionError(
                "obligation.unknown",
                f"the verdict asks for {name!r}, which this version cannot do",
                fix=CODES["obligation.unknown"].solution,
            )
    policy = {**result["policy"], "opa_version": opa_version}
    try:
        verdict = Verdict.model_validate({**result, "policy": policy})
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(str(part) for part in first["loc"])
        raise invalid(f"{place or 'verdict'}: {first['msg']}") from error
    if (verdict.decision_id, verdict.kind) != (question.decision_id, question.kind):
        raise invalid("it answers another question")
    return verdict


def refuse(error: DecisionError, question: Question, revision: str) -> Verdict:
    """The deny that stands for a decision that could not be made."""
    code = error.code if error.code in CODES else _stand_in(error.code)
    message = f"{CODES[code].message}: {error}"
    return _verdict("deny", code, message, question, revision, solution=error.fix)


def _stand_in(code: str) -> str:
    """The code for what kept OPA from being asked at all: a bundle that is not trusted, or no OPA."""
    return "engine.not_ready" if code.startswith("bundle.") else "engine.unavailable"


def unpersisted(error: EvidenceError, question: Question, revision: str) -> Verdict:
    """The escalation that replaces a verdict which could not be written down."""
    code = "explanation.unpersisted"
    message = f"{CODES[code].message}: {error}"
    return _verdict("escalate", code, message, question, revision, solution=error.fix)


def invalid(message: str) -> DecisionError:
    """The error for an answer that is not what was asked for."""
    return DecisionError("engine.invalid", message, fix=CODES["engine.invalid"].solution)


def _verdict(
    effect: Effect,
    code: str,
    message: str,
    question: Question,
    revision: str,
    *,
    solution: str | None = None,
) -> Verdict:
    rule = f"tipstaff.engine#{code}"
    return Verdict(
        schema_version=1,
        kind=question.kind,
        effect=effect,
        confirmations=0,
        codes=[code],
        reasons=[
            Reason(
                code=code,
                message=message[:2000],
                rule=rule,
                solution=solution or CODES[code].solution,
            )
        ],
        matched_rules=[rule],
        obligations=[],
        policy=PolicyIdentity(bundle="tipstaff", revision=revision, data_digest="", opa_version=""),
        decision_id=question.decision_id,
    )
