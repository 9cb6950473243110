"""The tool ``propose_action``: an action put before policy and on record. It authorizes and executes nothing."""

from __future__ import annotations

from pydantic import Field

from tipstaff.documents import strict_json
from tipstaff.documents.base import Contract, Identifier, Json, parse
from tipstaff.surfaces.call import Call, Work

_DOMAIN = "tipstaff.action.v1"
_UNTRUSTED = ("action", "reasons", "codes")
_NOTE = (
    "This is a record, and no authorization: nothing was executed, and no request for approval was made. "
    "Ask the user before you do anything."
)


class _Action(Contract):
    type: Identifier
    domain: Identifier | None = None
    parameters: Json = Field(default_factory=dict)


class _Arguments(Contract):
    action: _Action
    reason: str = Field("", max_length=2000)
    provenance: str | None = Field(None, max_length=100)


def prepare(call: Call) -> Work:
    """Read what is proposed; raises ``ContractError``."""
    asked = parse(_Arguments, call.arguments)
    action = asked.action.model_dump()
    document = {
        "schema_version": 1,
        "kind": "action",
        "subject": {"id": call.principal.id},
        "action": action,
        "resource": {"id": f"action:{strict_json.digest(action, domain=_DOMAIN)}"},
        "evidence": {
            "caller": "mcp",
            # What the caller says of itself stays a saying: this channel proves no person.
            "provenance": "untrusted_external",
            "claimed_provenance": asked.provenance,
            "reason": asked.reason,
        },
    }

    def work() -> Json:
        verdict = call.engine.decide(document)
        return {
            "authorized": False,
            "executed": False,
            "effect": verdict.effect,
            "codes": list(verdict.codes),
            "reasons": [reason.model_dump() for reason in verdict.reasons],
            "action": action,
            "provenance": "untrusted_external",
            "decision_id": verdict.decision_id,
            "policy": verdict.policy.model_dump(),
            "note": _NOTE,
            "untrusted": list(_UNTRUSTED),
        }

    return work
