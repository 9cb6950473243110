"""The lines of an approval store: append-only events, of which the state of each request is the fold.

A line is the RFC 8785 bytes of one event and a newline. The members stand here in their order there, so that a line is
canonical where it is what its own event serialises to.
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from tipstaff.documents.base import (
    ApprovalKey,
    Contract,
    Identifier,
    Instant,
    Json,
    Sha256,
    Urgency,
)
from tipstaff.documents.context import Actor


class ApprovalAsked(Contract):
    """A person is asked; the members are those of ``approval_request``. ``key`` ends in ``digest``."""

    alternatives: list[str] = Field(min_length=1)
    bundle_revision: str
    confirm_within_s: int = Field(ge=1)
    confirmations: int = Field(ge=1, le=2)
    created_at: Instant
    decision_id: Identifier
    digest: Sha256
    event: Literal["request"]
    evidence: Json
    expires_at: Instant
    key: ApprovalKey
    kind: str
    requested_by: Actor
    risk: str
    schema_version: Literal[1]
    urgency: Urgency
    what: str
    why: list[str] = Field(min_length=1)


class ApprovalConfirmed(Contract):
    """The first of two confirmations, with the SHA-256 of its one-time token; null where a sequence was broken off.

    ``mac`` as in ``approval_decided``.
    """

    at: Instant
    by: Actor
    event: Literal["confirmation"]
    key: ApprovalKey
    mac: Sha256 | None
    schema_version: Literal[1]
    token_expires_at: Instant | None
    token_sha256: Sha256 | None


class ApprovalDecided(Contract):
    """A request is decided, runs out of time, or is used.

    ``by`` is who decided, null where nobody did. ``mac`` is HMAC-SHA256 with the operator's key over the digest of all
    lines before and this event's RFC 8785 bytes without ``mac``; null where there is no key.
    """

    at: Instant
    by: Actor | None
    event: Literal["decision"]
    key: ApprovalKey
    mac: Sha256 | None
    note: str | None
    schema_version: Literal[1]
    status: Literal["approved", "rejected", "expired", "consumed"]
