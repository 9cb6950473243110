"""An approval request as a row of the ledger, and read back strictly."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tipstaff.documents.approval import ApprovalRequest
from tipstaff.documents.base import Json, parse
from tipstaff.documents.strict_json import canonical, digest, loads
from tipstaff.errors import ContractError
from tipstaff.ledger.database import corrupt
from tipstaff.ledger.new_request import CONTENT, request_key
from tipstaff.ledger.schema import MAX_JSON


@dataclass(frozen=True)
class Material:
    """What is needed to judge again: the input document without its context, and the diff's bytes."""

    document: Json
    diff: bytes = b""


def name_digest(key: str) -> str:
    """What stands in the column ``digest`` of a request that has a name: one is pending for each name."""
    return digest({"key": key}, domain="tipstaff.approval-name")


def to_row(request: ApprovalRequest, material: Material) -> dict[str, Any]:
    """The values of a new row."""
    value = request.model_dump()
    # What is read but never searched or compared lies in one JSON column.
    content = {name: value[name] for name in (*CONTENT, "requested_by")}
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
