"""An approval request as a row of the ledger: composed from what a verdict demands, and read back strictly."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from tipstaff.documents.approval import ApprovalRequest
from tipstaff.documents.base import Json, Urgency, parse
from tipstaff.documents.input import Actor
from tipstaff.documents.strict_json import canonical, digest, loads
from tipstaff.errors import ContractError
from tipstaff.ledger.database import corrupt
from tipstaff.ledger.schema import MAX_JSON
from tipstaff.project import timestamp

# What is read but never searched or compared lies in one JSON column.
_CONTENT = ("kind", "what", "why", "evidence", "risk", "alternatives", "urgency", "decision_id")


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


@dataclass(frozen=True)
class Material:
    """What is needed to judge again: the input document without its context, and the diff's bytes."""

    document: Json
    diff: bytes = b""


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


def name_digest(key: str) -> str:
    """What stands in the column ``digest`` of a request that has a name: one is pending for each name."""
    return digest({"key": key}, domain="tipstaff.approval-name")


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
    content: Json = {name: getattr(new, name) for name in _CONTENT}
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


def to_row(request: ApprovalRequest, material: Material) -> dict[str, Any]:
    """The values of a new row."""
    value = request.model_dump()
    content = {name: value[name] for name in (*_CONTENT, "requested_by")}
    row_key, unique = request_key(request.digest, request.decision_id), request.digest
    if request.key != row_key:
        content |= {"key": request.key, "digest": request.digest}
        unique = name_digest(request.key)
    plain = ("status", "bundle_revision", "confirmations", "confirm_within_s")
    return {
        **{name: value[name] for name in (*plain, "created_at", "expires_at")},
        "key": row_key,
        "digest": unique,
        "content": canonical(content).decode(),
        "document": canonical(material.document).decode(),
        "diff": material.diff,
    }


def from_row(row: Any, *, now: str, path: str) -> ApprovalRequest:
    """The request in a row as it stands ``now``. Raises ``EvidenceError`` (``store.corrupt``)."""
    status = "expired" if row.status == "pending" and row.expires_at <= now else row.status
    try:
        content = loads(row.content.encode(), max_bytes=MAX_JSON)
        return parse(
            ApprovalRequest,
            {
                "key": row.key,
                "digest": row.digest,
                **content,
                "status": status,
                "bundle_revision": row.bundle_revision,
                "confirmations": row.confirmations,
                "confirm_within_s": row.confirm_within_s,
                "created_at": row.created_at,
                "expires_at": row.expires_at,
                "decided_by": loads(row.decided_by.encode()) if row.decided_by else None,
                "decided_at": row.decided_at,
                "note": row.note,
            },
        )
    except (ContractError, TypeError) as error:
        raise corrupt(path, f"request {row.key[:12]}: {error}") from error


def material_of(row: Any, *, path: str) -> Material:
    """The material in a row. Raises ``EvidenceError`` (``store.corrupt``)."""
    try:
        document = loads(row.document.encode(), max_bytes=MAX_JSON)
    except ContractError as error:
        raise corrupt(path, f"request {row.key[:12]}: {error}") from error
    return Material(document, row.diff)
