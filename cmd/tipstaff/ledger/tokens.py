"""The tokens of the MCP surface: who may come in by which secret, of which only the digest is kept."""

from __future__ import annotations

import hmac
import re
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Engine, insert, select, update

from tipstaff.documents.context import Actor
from tipstaff.errors import ContractError
from tipstaff.ledger.confirmation import fingerprint, person
from tipstaff.ledger.database import reading, writing
from tipstaff.ledger.schema import tokens
from tipstaff.project import timestamp, utc_now

_columns = tokens.c
_ID_BYTES = 6
_SECRET_BYTES = 32
# Recognised by `tipstaff.documents.redaction`, too.
_FORM = re.compile(r"tsmcp_(?P<id>[0-9a-f]{12})_[A-Za-z0-9_-]{43}")
_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")
# What the trail calls those who have no token.
_RESERVED = frozenset({"http", "tokens", "unauthenticated", "unknown"})


@dataclass(frozen=True)
class Token:
    """What is known of a token. Instants are RFC 3339 in UTC; people are canonical JSON of an ``Actor``."""

    id: str
    name: str
    scope: str
    issued_by: str
    issued_at: str
    expires_at: str
    revoked_by: str | None
    revoked_at: str | None


class Tokens:
    """The tokens of one ledger. Every method raises ``EvidenceError`` (``store.*``), too."""

    def __init__(self, database: Engine, clock: Callable[[], datetime] = utc_now) -> None:
        self._database = database
        self._clock = clock

    def issue(self, name: str, scope: str, *, lifetime_s: int, by: Actor) -> tuple[Token, str]:
        """A new token and the text to present, which is kept nowhere.

        Raises ``ContractError``: ``token.name``, ``token.exists``.
        """
        self.demand_new(name)
        identity, now = secrets.token_hex(_ID_BYTES), self._clock()
        text = f"tsmcp_{identity}_{secrets.token_urlsafe(_SECRET_BYTES)}"
        row = {
            "id": identity,
            "name": name,
            "scope": scope,
            "secret_sha256": fingerprint(text),
            "issued_by": person(by),
            "issued_at": timestamp(now),
            "expires_at": timestamp(now + timedelta(seconds=lifetime_s)),
        }
        with writing(self._database) as connection:
            if connection.execute(select(tokens).where(_columns.name == name)).first():
                raise _exists(name)
            connection.execute(insert(tokens).values(row))
        return self.named(name), text

    def demand_new(self, name: str) -> None:
        """Raise ``ContractError`` for what is no name (``token.name``), or was one before (``token.exists``)."""
        if not _NAME.fullmatch(name) or name in _RESERVED:
            raise ContractError(
                "token.name",
                "not the name of a token",
                field="NAME",
                fix="use 1 to 64 of a-z, 0-9, dots, hyphens and underscores, the first a letter or digit, "
                "and no name of those who have no token",
            )
        with reading(self._database) as connection:
            if connection.execute(select(tokens).where(_columns.name == name)).first():
                raise _exists(name)

    def named(self, name: str) -> Token:
        """The token of a name; raises ``ContractError`` (``token.unknown``)."""
        with reading(self._database) as connection:
            row = connection.execute(select(tokens).where(_columns.name == name)).first()
        if row is None:
            raise ContractError(
                "token.unknown",
                "there is no token of this name",
                field="NAME",
                fix="`tipstaff mcp token list` shows the names",
            )
        return _token(row)

    def all(self) -> list[Token]:
        """Every token that was ever issued, the oldest first."""
        with reading(self._database) as connection:
            rows = connection.execute(select(tokens).order_by(_columns.issued_at, _columns.id))
            return [_token(row) for row in rows]

    def revoke(self, name: str, *, by: Actor) -> Token:
        """Revoke a token; one that was revoked keeps its first revocation. Raises ``ContractError``."""
        values = {"revoked_by": person(by), "revoked_at": timestamp(self._clock())}
        wanted = update(tokens).where(_columns.name == name, _columns.revoked_at.is_(None))
        with writing(self._database) as connection:
            connection.execute(wanted.values(values))
        return self.named(name)

    def presented(self, text: str) -> Token | None:
        """The token that a text is the secret of, whatever became of it since; None where it is none's."""
        found = _FORM.fullmatch(text)
        if found is None:
            return None
        with reading(self._database) as connection:
            row = connection.execute(select(tokens).where(_columns.id == found["id"])).first()
        if row is None or not hmac.compare_digest(fingerprint(text), row.secret_sha256):
            return None
        return _token(row)


def _token(row: Any) -> Token:
    return Token(**{name: getattr(row, name) for name in Token.__dataclass_fields__})


def _exists(name: str) -> ContractError:
    return ContractError(
        "token.exists",
        f"{name} was issued before, and a name on the trail stands for one token",
        field="NAME",
        fix="choose another name",
    )
