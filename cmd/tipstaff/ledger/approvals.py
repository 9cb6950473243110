"""Requests for a person's decision: asked once, decided once, used once, and never by running out of time.

``pending`` becomes ``approved``, ``rejected`` or ``expired``, and ``approved`` becomes ``consumed``. A time limit is
over at its very instant. Each step is one conditional statement under the write lock. Who may decide, and whether an
approval still counts when it is used, is for policy to say, not for this module.
"""

from __future__ import annotations

import builtins
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

from sqlalchemy import ColumnElement, Connection, Engine, and_, or_, select, update

from tipstaff.documents.approval import STATUSES, ApprovalRequest
from tipstaff.documents.context import Actor
from tipstaff.ledger import refusal
from tipstaff.ledger.confirmation import NO_TOKEN, decision, fingerprint, is_token, person
from tipstaff.ledger.database import corrupt, reading, writing
from tipstaff.ledger.holds import hold
from tipstaff.ledger.new_request import NewRequest, after, compose
from tipstaff.ledger.request_row import Material, from_row, material_of, name_digest, to_row
from tipstaff.ledger.schema import SHORTEST_PREFIX, approvals
from tipstaff.project import timestamp, utc_now

__all__ = ["Approvals", "Material", "NewRequest"]

_columns = approvals.c
_shown = [column for column in _columns if column.name not in ("document", "diff")]
# Of requests that one name got within one microsecond, the one that goes on was asked last.
_ENDED = _columns.status.in_(("consumed", "expired"))
_DIGITS = frozenset("0123456789abcdef")


class Approvals:
    """The requests of one ledger.

    A ``key`` may be a unique prefix of at least six characters. Every method raises ``EvidenceError`` (``store.*``),
    and ``ContractError``: ``approval.unknown``, ``approval.ambiguous``, ``approval.decided``, ``approval.expired``.
    """

    def __init__(self, database: Engine, clock: Callable[[], datetime] = utc_now) -> None:
        self._database = database
        self._clock = clock
        self._path = str(database.url.database)

    def request(self, new: NewRequest, material: Material = Material({})) -> ApprovalRequest:  # noqa: B008  frozen
        """Ask; where the same digest is pending already, the request that is.

        With a key also where its last request is rejected, or approved and in time.
        """
        with writing(self._database) as connection:
            instant = self._clock()
            request, now = compose(new, instant), timestamp(instant)
            self._demand_closed(connection)
            _expire(connection, now)
            values = to_row(request, material)
            same = and_(_columns.digest == values["digest"], _columns.status == "pending")
            if new.key:
                same = and_(_columns.digest == values["digest"], _stands(now))
            row = connection.execute(
                select(*_shown).where(or_(same, _columns.key == values["key"])).order_by(~same)
            ).first()
            if row is not None:
                return self._request(row, now)
            connection.execute(approvals.insert().values(values))
        return request

    def get(self, key: str) -> ApprovalRequest | None:
        """The last request that was asked with exactly this key, as it stands now."""
        with reading(self._database) as connection:
            self._demand_closed(connection)
            row = _named(connection, key)
            return None if row is None else self._request(row, self._now())

    def list(self, status: str | None = None) -> builtins.list[ApprovalRequest]:
        """The requests, oldest first; with ``status`` only those that stand so now."""
        if status is not None and status not in STATUSES:
            raise refusal.no_status(status)
        requests = self._all()
        return [request for request in requests if status in (None, request.status)]

    def counts(self) -> dict[str, int]:
        """How many requests stand in each status now."""
        counts = dict.fromkeys(STATUSES, 0)
        for request in self._all():
            counts[request.status] += 1
        return counts

    def stale(self, current_revision: str) -> builtins.list[ApprovalRequest]:
        """Pending requests that were asked under another revision of the policy."""
        pending = self.list("pending")
        return [request for request in pending if request.bundle_revision != current_revision]

    def show(self, key: str) -> ApprovalRequest:
        """One request as it stands now."""
        with reading(self._database) as connection:
            return self._request(self._resolved(connection, key), self._now())

    def material(self, key: str) -> Material:
        """What is needed to judge the request's subject again."""
        with reading(self._database) as connection:
            found = self._resolved(connection, key)
            row = connection.execute(select(approvals).where(_columns.key == found.key)).one()
            return material_of(row, path=self._path)

    def confirm_first(self, key: str, actor: Actor) -> str:
        """The first of two confirmations: decides nothing, gives a one-time token for the second.

        A token from before stops counting. Raises ``ContractError`` (``approval.single``) where one step decides.
        """
        token = secrets.token_urlsafe(32)

        def values(row: Any, instant: datetime) -> dict[str, Any]:
            if row.confirmations == 1:
                raise refusal.single(row.key)
            return {
                "first_confirmed_by": person(actor),
                "token_sha256": fingerprint(token),
                "token_expires_at": after(instant, row.confirm_within_s, field="confirm_within_s"),
            }

        self._decide(key, values)
        return token

    def approve(
        self, key: str, actor: Actor, *, token: str | None = None, note: str | None = None
    ) -> ApprovalRequest:
        """Approve, where two confirmations are needed with the first one's token and in time.

        Otherwise raises ``ContractError`` (``approval.token``); a wrong or late token ends the sequence.
        """

        def values(row: Any, instant: datetime) -> dict[str, Any]:
            if row.confirmations == 2 and not is_token(row, token, timestamp(instant)):
                if token is None:
                    raise refusal.wrong_token(row.key, given=False)
                return {"first_confirmed_by": None, **NO_TOKEN}
            return decision("approved", actor, instant, note)

        request = self._decide(key, values)
        if request.status != "approved":
            raise refusal.wrong_token(request.key, given=True)
        return request

    def reject(self, key: str, actor: Actor, note: str | None = None) -> ApprovalRequest:
        """Reject, always in one step."""
        return self._decide(key, lambda _row, instant: decision("rejected", actor, instant, note))

    def consume(self, key: str) -> ApprovalRequest:
        """Mark an approval as used, once. Whether it was used in time, policy says when it judges again before that.

        Raises ``ContractError``: ``approval.consumed`` the second time, and ``approval.undecided`` or
        ``approval.expired`` where nobody has approved.
        """
        now = self._now()
        with writing(self._database) as connection:
            row = self._resolved(connection, key)
            used = connection.execute(
                update(approvals)
                .where(_columns.key == row.key, _columns.status == "approved")
                .values(status="consumed")
            ).rowcount
            request = self._request(self._resolved(connection, row.key), now)
        if not used:
            raise refusal.unusable(request)
        return request

    def sweep(
        self, announce: Callable[[ApprovalRequest], object] | None = None
    ) -> builtins.list[ApprovalRequest]:
        """Expire what has run out of time; every request that expired since the last sweep, each exactly once.

        ``announce`` is called for each before the change is kept; if it raises, none is changed.
        """
        now = self._now()
        with writing(self._database) as connection:
            _expire(connection, now)
            fresh = and_(_columns.status == "expired", _columns.is_announced == 0)
            rows = connection.execute(
                select(*_shown).where(fresh).order_by(_columns.created_at, _columns.key)
            ).all()
            requests = [self._request(row, now) for row in rows]
            if announce is not None:
                for request in requests:
                    announce(request)
            connection.execute(update(approvals).where(fresh).values(is_announced=1))
        return requests

    @contextmanager
    def hold(self, key: str) -> Iterator[ApprovalRequest]:
        """Be the only one in any process who acts upon a request; yields it as it stands once the others are done.

        The kernel ends a dead holder's hold, so what it left ``approved`` the next one finds so.
        """
        with reading(self._database) as connection:
            name = self._resolved(connection, key).key
        with hold(Path(self._path).parent, name):
            yield self.show(name)

    def _decide(
        self, key: str, values: Callable[[Any, datetime], dict[str, Any]]
    ) -> ApprovalRequest:
        instant = self._clock()
        now = timestamp(instant)
        with writing(self._database) as connection:
            row = self._resolved(connection, key)
            is_open = row.status == "pending" and row.created_at <= now < row.expires_at
            changed = is_open and (
                connection.execute(
                    update(approvals)
                    .where(_columns.key == row.key, _columns.status == "pending")
                    .where(_columns.created_at <= now, _columns.expires_at > now)
                    .values(values(row, instant))
                ).rowcount
                == 1
            )
            if not changed:
                _expire(connection, now)
            request = self._request(self._resolved(connection, row.key), now)
        if not changed:
            raise refusal.undecidable(request)
        return request

    def _all(self) -> builtins.list[ApprovalRequest]:
        now = self._now()
        with reading(self._database) as connection:
            rows = connection.execute(
                select(*_shown).order_by(_columns.created_at, ~_ENDED, _columns.key)
            ).all()
        return [self._request(row, now) for row in rows]

    def _resolved(self, connection: Connection, key: str) -> Any:
        self._demand_closed(connection)
        named = _named(connection, key)
        if named is not None:
            return named
        if not set(key) <= _DIGITS:
            raise refusal.unknown(key)
        if len(key) < SHORTEST_PREFIX:
            raise refusal.ambiguous(key, SHORTEST_PREFIX)
        # "g" follows every digit of a key.
        begins = and_(_columns.key >= key, _columns.key < key + "g")
        rows = connection.execute(select(*_shown).where(begins).limit(2)).all()
        if not rows:
            raise refusal.unknown(key)
        if len(rows) > 1:
            raise refusal.ambiguous(key, SHORTEST_PREFIX)
        return rows[0]

    def _demand_closed(self, connection: Connection) -> None:
        row = connection.execute(
            select(_columns.key, _columns.status).where(_columns.status.not_in(STATUSES)).limit(1)
        ).first()
        if row is not None:
            raise corrupt(self._path, f"request {row.key[:12]} has the status {row.status!r}")

    def _request(self, row: Any, now: str) -> ApprovalRequest:
        return from_row(row, now=now, path=self._path)

    def _now(self) -> str:
        return timestamp(self._clock())


def _named(connection: Connection, key: str) -> Any:
    """The last row that was asked by this very key; None where there is none."""
    last = select(*_shown).where(_columns.digest == name_digest(key))
    return connection.execute(last.order_by(_columns.created_at.desc(), _ENDED).limit(1)).first()


def _stands(now: str) -> ColumnElement[bool]:
    """Whether a request with a name still has an answer, or waits for one."""
    in_time = and_(_columns.status == "approved", _columns.expires_at > now)
    return or_(_columns.status.in_(("pending", "rejected")), in_time)


def _expire(connection: Connection, now: str) -> None:
    connection.execute(
        update(approvals)
        .where(_columns.status == "pending", _columns.expires_at <= now)
        .values(status="expired", **NO_TOKEN)
    )
