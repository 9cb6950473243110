"""What a decision and the token between two confirmations put into a row."""

from __future__ import annotations

import hmac
from datetime import datetime
from hashlib import sha256
from typing import Any

from tipstaff.documents.context import Actor
from tipstaff.documents.redaction import redact_text
from tipstaff.documents.strict_json import canonical
from tipstaff.project import timestamp

NO_TOKEN = {"token_sha256": None, "token_expires_at": None}


def decision(status: str, actor: Actor, instant: datetime, note: str | None) -> dict[str, Any]:
    """The columns of a decision; it ends a sequence of confirmations."""
    return {
        "status": status,
        "decided_by": person(actor),
        "decided_at": timestamp(instant),
        "note": note and redact_text(note),
        **NO_TOKEN,
    }


def person(actor: Actor) -> str:
    """A person as a column."""
    return canonical(actor.model_dump()).decode()


def is_token(row: Any, token: str | None, now: str) -> bool:
    """Whether the token is the row's own and in time, its end excluded; compared in constant time."""
    if token is None or row.token_sha256 is None:
        return False
    is_equal = hmac.compare_digest(fingerprint(token), row.token_sha256)
    return is_equal and now < row.token_expires_at


def fingerprint(token: str) -> str:
    """What is kept of a token."""
    return sha256(token.encode("utf-8", "surrogateescape")).hexdigest()
