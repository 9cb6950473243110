"""One line of an approval store: how an event becomes bytes, how bytes are read back, and who vouches for them."""

from __future__ import annotations

import hmac
from datetime import datetime
from hashlib import sha256
from typing import Any

from pydantic import ValidationError

from tipstaff.documents.approval_event import ApprovalAsked, ApprovalConfirmed, ApprovalDecided
from tipstaff.documents.base import parse
from tipstaff.documents.context import Actor
from tipstaff.documents.redaction import redact_text
from tipstaff.documents.strict_json import MAX_BYTES, canonical, loads
from tipstaff.errors import ContractError
from tipstaff.project import timestamp

Event = ApprovalAsked | ApprovalConfirmed | ApprovalDecided
_BOTH = {"schema_version": 1, "mac": None}


def read_event(line: bytes) -> Event:
    """The event in a line, newline excluded; raises ``ContractError`` where it is not the canonical bytes of one."""
    model: type[Event] = ApprovalAsked
    if not line.startswith(b'{"alternatives":'):
        model = ApprovalDecided if b'"event":"decision"' in line else ApprovalConfirmed
    try:
        event: Event = model.__pydantic_validator__.validate_json(line)
    except ValidationError:
        event = parse(model, loads(line))
    if canonical(loads(line)) != line or canonical(event.model_dump()) != line:
        raise ContractError(
            "json.not_canonical", "not the canonical bytes of an event", fix="restore the line"
        )
    return event


class Seal:
    """Digests the lines of one store in order and, with an operator's key, proves and makes the MAC of each decision.

    Without a key nobody's MAC is looked at.
    """

    def __init__(self, key: bytes | None) -> None:
        self._key = key
        self._head = bytes(32)

    @property
    def is_open(self) -> bool:
        """Whether there is no key, so that every line is vouched for."""
        return self._key is None

    def follow(self, event: Event, line: bytes) -> bool:
        """Go on over the next line, newline excluded; whether it is vouched for."""
        if self._key is None:
            return True
        proven = isinstance(event, ApprovalAsked) or hmac.compare_digest(
            self._mac(self._key, event), event.mac or ""
        )
        self._head = sha256(self._head + line).digest()
        return proven

    def close(self, event: Event) -> Event:
        """The event with its MAC, where there is a key and it takes one."""
        if self._key is None or isinstance(event, ApprovalAsked):
            return event
        return event.model_copy(update={"mac": self._mac(self._key, event)})

    def _mac(self, key: bytes, event: ApprovalConfirmed | ApprovalDecided) -> str:
        body = canonical(event.model_dump(exclude={"mac"}))
        return hmac.new(key, self._head + body, sha256).hexdigest()


def write_event(event: Event) -> bytes:
    """The line of an event, newline excluded. Raises ``ContractError`` where it is too large, or holds no JSON."""
    line = canonical(event.model_dump())
    if len(line) >= MAX_BYTES:
        raise ContractError(
            "store.too_large",
            f"a line of {len(line) + 1} bytes; at most {MAX_BYTES} are kept",
            fix="ask with a digest of the large part, or give a shorter note",
        )
    return line


def decision(
    key: str,
    status: str,
    instant: datetime,
    actor: Actor | None = None,
    note: str | None = None,
) -> Event:
    """A request decided, run out of time, or used."""
    fields: dict[str, Any] = {
        "event": "decision",
        "key": key,
        "status": status,
        "at": timestamp(instant),
        "by": actor and actor.model_dump(),
        "note": note and redact_text(note),
    }
    return parse(ApprovalDecided, _BOTH | fields)


def confirmation(
    key: str, actor: Actor, instant: datetime, token: str | None, ends: str | None
) -> Event:
    """A first confirmation with the fingerprint and the end of its token; without, a sequence broken off."""
    fields = {
        "event": "confirmation",
        "key": key,
        "at": timestamp(instant),
        "by": actor.model_dump(),
        "token_sha256": token,
        "token_expires_at": ends,
    }
    return parse(ApprovalConfirmed, _BOTH | fields)
