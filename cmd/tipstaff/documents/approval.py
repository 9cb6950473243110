"""A request for a person's decision, and the record of a change it belongs to."""

from __future__ import annotations

from typing import Literal, get_args

from pydantic import Field

from tipstaff.documents.base import (
    ApprovalKey,
    Contract,
    Identifier,
    Json,
    Sha256,
    Timestamp,
    Urgency,
)
from tipstaff.documents.context import Actor

ApprovalStatus = Literal["pending", "approved", "rejected", "expired", "consumed"]
STATUSES: tuple[str, ...] = get_args(ApprovalStatus)
_PUBLIC = {
    "key",
    "status",
    "kind",
    "what",
    "why",
    "evidence",
    "risk",
    "alternatives",
    "urgency",
    "digest",
    "created_at",
    "expires_at",
    "decided_by",
}


class ApprovalRequest(Contract):
    """What a person is asked, bound by ``digest`` to the exact content that was judged.

    ``key`` names the request: of a change it is derived from the digest and the asking decision, of a governed harness
    it is the digest itself, after its prefix. ``alternatives`` says what else could be done; ``confirmations`` counts
    the steps needed.
    """

    key: ApprovalKey
    status: ApprovalStatus
    kind: str
    what: str
    why: list[str] = Field(min_length=1)
    evidence: Json
    risk: str
    alternatives: list[str] = Field(min_length=1)
    urgency: Urgency
    digest: Sha256
    decision_id: Identifier
    bundle_revision: str
    confirmations: int = Field(ge=1, le=2)
    confirm_within_s: int = Field(ge=1)
    created_at: Timestamp
    expires_at: Timestamp
    requested_by: Actor
    decided_by: Actor | None = None
    decided_at: Timestamp | None = None
    note: str | None = None

    def public(self) -> Json:
        """What of it commands show."""
        return self.model_dump(by_alias=True, include=_PUBLIC)


class ChangeRecord(Contract):
    """A proposed change as the ledger keeps it; ``id`` is the decision's. ``branch`` is None when nothing was done."""

    id: Identifier
    action_class: str
    effect: str
    base: str
    diff_sha256: Sha256
    files: list[str]
    branch: str | None = None
    commit: str | None = None
    pull_request: str | None = None
    approval: Sha256 | None = None
    state: Literal[
        "judged", "proposing", "proposed", "awaiting-approval", "ready", "rejected", "failed"
    ]
    created_at: Timestamp
