"""One line of the audit trail, and the checkpoint that anchors its head elsewhere."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from tipstaff.documents.base import Contract, Identifier, Json, SchemaVersion, Sha256, Timestamp
from tipstaff.documents.context import Actor
from tipstaff.documents.verdict import Verdict

Entry = Literal[
    "allow",
    "require_approval",
    "escalate",
    "deny",
    "blocked-by-ceiling",
    "detected",
    "proposed",
    "awaiting-approval",
    "first-confirmation",
    "approved",
    "rejected",
    "expired",
    "carried-out",
    "failed",
    "paused",
    "resumed",
    "torn-tail",
    "restarted",
    "policy-rollback",
    "policy-accept",
    "accepted",
    "issued",
    "revoked",
    "called",
    "refused",
]


class Explanation(Contract):
    """What a decision saw and said: the event, its evidence, the preferences used, the outcome, the correction.

    ``event``, ``evidence`` and ``preferences`` together are the input document; ``untrusted`` names those that hold
    text from outside.
    """

    event: Json
    evidence: Json
    preferences: Json
    outcome: Verdict
    correction: list[str] = Field(min_length=1)
    untrusted: list[str]


class AuditRecord(Contract):
    """One record. ``hash`` is SHA-256 over the RFC 8785 bytes of all other fields, ``prev`` included.

    ``detail`` of a decision is an ``Explanation``; of another entry, what happened. A ``seq`` counts from 1.
    """

    seq: int = Field(ge=1)
    at: Timestamp
    action_class: str | None
    target: str
    decision: Entry
    autonomy_tier: str | None
    sandbox_backend: str | None
    detail: Json
    decision_id: Identifier | None
    actor: Actor
    codes: list[Identifier]
    bundle_revision: str | None
    input_sha256: Sha256 | None
    prev: Sha256
    hash: Sha256


class Checkpoint(Contract):
    """The head of a trail as a witness saw it. ``signature`` is Ed25519 over the canonical other fields, hex."""

    schema_version: SchemaVersion
    trail: str
    seq: int = Field(ge=0)
    hash: Sha256
    at: Timestamp
    signature: str
