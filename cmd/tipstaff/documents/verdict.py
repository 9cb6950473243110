"""The verdict: the one answer of the PDP to every question.

``effect`` is ordered ``allow`` < ``require_approval`` < ``escalate`` < ``deny``; the strictest reason has won.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from tipstaff.documents.base import (
    ActionClass,
    Contract,
    Effect,
    Identifier,
    Json,
    SchemaVersion,
    Tier,
    Urgency,
)
from tipstaff.documents.codes import CODES


class Reason(Contract):
    """Why: a stable code, what it means, the rule that said so, and what would change it."""

    code: Identifier
    message: str
    rule: Identifier
    solution: str


class OpenPullRequest(Contract):
    """Branch, commit and pull request; a draft where a person has still to approve."""

    id: Literal["open_pull_request"]
    draft: bool


class RequestApproval(Contract):
    """Ask a person. ``confirmations`` steps are needed, the second within ``confirm_within_s`` seconds."""

    id: Literal["request_approval"]
    urgency: Urgency
    ttl_s: int = Field(ge=1)
    confirmations: int = Field(ge=1, le=2)
    confirm_within_s: int = Field(ge=1)


class RecordClamp(Contract):
    """Append a record to the trail: the local file asked for more than the ceiling gives."""

    id: Literal["record_clamp"]
    action_class: ActionClass
    requested: Tier
    ceiling: Tier


Obligation = Annotated[OpenPullRequest | RequestApproval | RecordClamp, Field(discriminator="id")]
OBLIGATIONS = frozenset({"open_pull_request", "request_approval", "record_clamp"})


class PolicyIdentity(Contract):
    """Which policy answered: bundle name, revision, digest of its data, and the engine's version."""

    bundle: str
    revision: str
    data_digest: str
    opa_version: str


class Verdict(Contract):
    """One decision. ``facts`` are what the rules derived; ``advice`` needs no obedience."""

    schema_version: SchemaVersion
    kind: str
    effect: Effect
    confirmations: int = Field(ge=0, le=2)
    codes: list[Identifier]
    reasons: list[Reason]
    matched_rules: list[Identifier]
    obligations: list[Obligation]
    advice: list[Reason] = Field(default_factory=list)
    facts: Json = Field(default_factory=dict)
    policy: PolicyIdentity
    decision_id: Identifier

    @property
    def is_allowed(self) -> bool:
        """Whether it may be done, now and without anybody else."""
        return self.effect == "allow"

    @property
    def is_answered(self) -> bool:
        """Whether policy decided; else its answer was none, and this verdict stands in for it."""
        return not any(code in CODES for code in self.codes)

    @model_validator(mode="after")
    def _explained(self) -> Verdict:
        if not self.matched_rules:
            raise ValueError("a verdict names at least one rule")
        if self.effect != "allow" and not (self.codes and self.reasons):
            raise ValueError("a verdict that is not allow gives a code and a reason")
        if self.codes != list(dict.fromkeys(reason.code for reason in self.reasons)):
            raise ValueError("codes and reasons agree")
        if (self.confirmations > 0) != (self.effect == "require_approval"):
            raise ValueError("confirmations are asked for exactly when approval is required")
        return self
