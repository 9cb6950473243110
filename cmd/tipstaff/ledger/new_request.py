"""An approval request before anybody keeps it: composed from what a verdict demands."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from tipstaff.documents.approval import ApprovalRequest
from tipstaff.documents.base import Json, Urgency, parse
from tipstaff.documents.context import Actor
from tipstaff.documents.strict_json import digest
from tipstaff.errors import ContractError
from tipstaff.project import timestamp

# What a request says, beside what is searched and compared.
CONTENT = ("kind", "what", "why", "evidence", "risk", "alternatives", "urgency", "decision_id")


@dataclass(frozen=True)
class NewRequest:
    """What to ask a person. Times come from the verdict's obligation: ``ttl_s`` and ``confirm_within_s`` in seconds.

    ``key`` names the request where it is asked for by its content: the digest, or a prefix, a colon and the digest.
    """

    kind: str
    what: str
    why: tuple[str, ...]
    evidence: Json
    risk: str
    alternatives: tuple[str, ...]
    urgency: Urgency
    digest: str
    decision_id: str
    bundle_revision: str
    confirmations: int
    confirm_within_s: int
    ttl_s: int
    requested_by: Actor
    key: str | None = None


def request_key(content: str, decision_id: str) -> str:
    """The key of a request: from the digest of what was judged and the decision that asks."""
    asked = {"decision_id": decision_id, "digest": content}
    return digest(asked, domain="tipstaff.approval-request")


def after(instant: datetime, seconds: int, *, field: str) -> str:
    """The timestamp that many seconds later. Raises ``ContractError`` where that is not later, or beyond all dates."""
    try:
        if seconds >= 1:
            return timestamp(instant + timedelta(seconds=seconds))
    except OverflowError:
        pass
    raise ContractError(
        "document.invalid",
        f"{seconds} seconds are no time limit",
        field=field,
        fix="give a limit of at least one second",
    )


def compose(new: NewRequest, instant: datetime) -> ApprovalRequest:
    """The pending request. Raises ``ContractError`` naming a field that is not what it must be."""
    key = new.key or request_key(new.digest, new.decision_id)
    if new.key and not new.key.endswith(new.digest):
        raise ContractError(
            "document.invalid",
            "a request's key ends in the digest of its content",
            field="key",
            fix="make it with key_of()",
        )
    content: Json = {name: getattr(new, name) for name in CONTENT}
    for name in ("why", "alternatives"):
        content[name] = list(content[name])
    return parse(
        ApprovalRequest,
        {
            **content,
            "key": key,
            "status": "pending",
            "digest": new.digest,
            "bundle_revision": new.bundle_revision,
            "confirmations": new.confirmations,
            "confirm_within_s": new.confirm_within_s,
            "created_at": timestamp(instant),
            "expires_at": after(instant, new.ttl_s, field="ttl_s"),
            "requested_by": new.requested_by.model_dump(),
        },
    )
