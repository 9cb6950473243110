"""The proposed changes of a project: what was judged, what became of it, and where it lies."""

from __future__ import annotations

import builtins
from typing import Any

from sqlalchemy import Engine, and_, func, select, update

from tipstaff.documents.approval import ChangeRecord
from tipstaff.documents.base import parse
from tipstaff.documents.strict_json import canonical, loads
from tipstaff.errors import ContractError
from tipstaff.ledger.database import corrupt, reading, writing
from tipstaff.ledger.schema import MAX_JSON, SHORTEST_PREFIX, changes

__all__ = ["Changes"]

_columns = changes.c


class Changes:
    """The changes of one ledger. Every method raises ``EvidenceError`` (``store.*``).

    The steps raise ``ContractError`` (``change.unknown``) where no change has exactly this id.
    """

    def __init__(self, database: Engine) -> None:
        self._database = database
        self._path = str(database.url.database)

    def record(self, change: ChangeRecord) -> None:
        """Keep a new change. Raises ``ContractError`` (``change.exists``) where its id is taken."""
        value = change.model_dump()
        value["files"] = canonical(value["files"]).decode()
        with writing(self._database) as connection:
            taken = select(_columns.id).where(_columns.id == change.id)
            if connection.execute(taken).first() is not None:
                raise ContractError(
                    "change.exists",
                    f"change {change.id} is recorded already",
                    fix="each decision records its change once",
                )
            connection.execute(changes.insert().values(value))

    def proposing(self, change: str) -> ChangeRecord:
        """Carrying out has begun; where it stops here, the outcome is unknown."""
        return self._step(change, {"state": "proposing"})

    def committed(self, change: str, *, branch: str, commit: str) -> ChangeRecord:
        """The branch exists."""
        return self._step(change, {"branch": branch, "commit": commit})

    def opened(self, change: str, *, pull_request: str) -> ChangeRecord:
        """The pull request is open."""
        return self._step(change, {"pull_request": pull_request})

    def proposed(self, change: str) -> ChangeRecord:
        """All is carried out, and nobody need be asked."""
        return self._step(change, {"state": "proposed"})

    def awaiting_approval(self, change: str, *, approval: str) -> ChangeRecord:
        """The request with the key ``approval`` is in the ledger."""
        return self._step(change, {"state": "awaiting-approval", "approval": approval})

    def ready(self, change: str) -> ChangeRecord:
        """The draft was approved and is ready for review."""
        return self._step(change, {"state": "ready"})

    def rejected(self, change: str) -> ChangeRecord:
        """A person rejected it."""
        return self._step(change, {"state": "rejected"})

    def failed(self, change: str) -> ChangeRecord:
        """Carrying out failed."""
        return self._step(change, {"state": "failed"})

    def list(self) -> builtins.list[ChangeRecord]:
        """All changes, oldest first."""
        with reading(self._database) as connection:
            rows = connection.execute(
                select(changes).order_by(_columns.created_at, _columns.id)
            ).all()
        return [self._change(row) for row in rows]

    def show(self, change: str) -> ChangeRecord:
        """The change whose id is, or alone begins with, the given text of at least six characters.

        Raises ``ContractError``: ``change.unknown`` or ``change.ambiguous``.
        """
        with reading(self._database) as connection:
            named = func.substr(_columns.id, 1, len(change)) == change
            rows = connection.execute(select(changes).where(named).limit(2)).all()
        if not rows:
            raise _unknown(change)
        if len(rows) > 1 or len(change) < SHORTEST_PREFIX:
            raise ContractError(
                "change.ambiguous",
                f"{change} does not name one change",
                fix=f"give more characters of the id, at least {SHORTEST_PREFIX}",
            )
        return self._change(rows[0])

    def unfinished(self, diff_sha256: str) -> builtins.list[ChangeRecord]:
        """The changes of this diff whose carrying out was begun and has not ended."""
        with reading(self._database) as connection:
            begun = and_(_columns.diff_sha256 == diff_sha256, _columns.state == "proposing")
            return [self._change(row) for row in connection.execute(select(changes).where(begun))]

    def find(self, change: str) -> ChangeRecord | None:
        """The change of exactly this decision; None where it changed no file, or there is none."""
        with reading(self._database) as connection:
            row = connection.execute(select(changes).where(_columns.id == change)).first()
        return None if row is None else self._change(row)

    def _step(self, change: str, values: dict[str, Any]) -> ChangeRecord:
        with writing(self._database) as connection:
            row = connection.execute(
                update(changes).where(_columns.id == change).values(values).returning(changes)
            ).first()
        if row is None:
            raise _unknown(change)
        return self._change(row)

    def _change(self, row: Any) -> ChangeRecord:
        try:
            files = loads(row.files.encode(), max_bytes=MAX_JSON)
            return parse(ChangeRecord, {**row._mapping, "files": files})
        except ContractError as error:
            raise corrupt(self._path, f"change {row.id}: {error}") from error


def _unknown(change: str) -> ContractError:
    return ContractError(
        "change.unknown", f"there is no change {change}", fix="`tipstaff change list` shows all"
    )
