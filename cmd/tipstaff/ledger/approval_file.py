"""Approval requests in one append-only file of JSON lines: locked, synced, and read whole or not at all.

A line that is torn, foreign or out of order makes the whole store undecided. Nothing is ever skipped or repaired here.
"""

from __future__ import annotations

import builtins
import errno
import os
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import IO

from tipstaff.documents.approval import STATUSES, ApprovalRequest
from tipstaff.documents.approval_event import ApprovalAsked
from tipstaff.documents.base import parse
from tipstaff.documents.context import Actor
from tipstaff.documents.redaction import redact
from tipstaff.errors import ContractError
from tipstaff.files import locked, reading, release, sync_folder
from tipstaff.ledger import approval_faults as faults
from tipstaff.ledger import refusal
from tipstaff.ledger.approval_fold import Entry, Fold
from tipstaff.ledger.approval_key import operator_key
from tipstaff.ledger.approval_lines import (
    Event,
    Seal,
    confirmation,
    decision,
    read_event,
    write_event,
)
from tipstaff.ledger.approval_skim import skim
from tipstaff.ledger.confirmation import fingerprint, is_token
from tipstaff.ledger.new_request import NewRequest, after, compose
from tipstaff.project import timestamp, utc_now

LOCK_S = 30
MAX_STORE = 1 << 30


@dataclass
class _Open:
    """The store under its lock: what it holds, and how its next line is sealed."""

    descriptor: int
    fold: Fold
    seal: Seal


class ApprovalFile:
    """The store at a path. Opening touches nothing; what only reads makes no file, and keys are exact."""

    def __init__(self, path: Path, clock: Callable[[], datetime] = utc_now) -> None:
        self.path = path.absolute()
        self._clock = clock

    def request(self, new: NewRequest) -> ApprovalRequest:
        """Ask; where that content's request is pending, approved and in time, or rejected: that one, unchanged."""
        named = new if new.key else replace(new, key=new.digest)
        compose(named, self._clock())  # refuses before a file is made
        with self._locked(create=True) as store:
            instant = self._clock()
            request, now = compose(named, instant), timestamp(instant)
            entry = store.fold.entries.get(request.key)
            if entry is not None and not entry.may_be_asked_again(now):
                return entry.request(now)
            fields = request.model_dump(exclude={"status", "decided_by", "decided_at", "note"})
            asked = redact(fields) | {"schema_version": 1, "event": "request"}
            self._append(store, [parse(ApprovalAsked, asked)])
            return store.fold.entries[request.key].request(now)

    def get(self, key: str) -> ApprovalRequest | None:
        """The request with exactly this key as it stands now."""
        entry = self._read().entries.get(key)
        return None if entry is None else entry.request(self._now())

    def list(self, status: str | None = None) -> builtins.list[ApprovalRequest]:
        """The requests, oldest first; with ``status`` only those that stand so now."""
        if status is not None and status not in STATUSES:
            raise refusal.no_status(status)
        now = self._now()
        entries = self._read().entries.values()
        return [entry.request(now) for entry in entries if status in (None, entry.status(now))]

    def counts(self) -> dict[str, int]:
        """How many requests stand in each status now."""
        counts, now = dict.fromkeys(STATUSES, 0), self._now()
        for entry in self._read().entries.values():
            counts[entry.status(now)] += 1
        return counts

    def confirm_first(self, key: str, actor: Actor) -> str:
        """The first of two confirmations: decides nothing, gives a one-time token for the second.

        A token from before stops counting. Raises ``ContractError`` (``approval.single``) where one step decides.
        """
        token = secrets.token_urlsafe(32)

        def confirmed(entry: Entry, instant: datetime) -> Event:
            if entry.confirmations == 1:
                raise refusal.single(key)
            within_s = entry.asked().confirm_within_s
            ends = after(instant, within_s, field="confirm_within_s")
            return confirmation(key, actor, instant, fingerprint(token), ends)

        self._decide(key, confirmed)
        return token

    def approve(
        self, key: str, actor: Actor, *, token: str | None = None, note: str | None = None
    ) -> ApprovalRequest:
        """Approve, where two confirmations are needed with the first one's token and in time.

        Otherwise raises ``ContractError`` (``approval.token``); a wrong token ends the sequence.
        """

        def approved(entry: Entry, instant: datetime) -> Event:
            first = entry.confirmed
            is_pair = entry.confirmations > 1
            if not is_pair or (first and is_token(first, token, timestamp(instant))):
                return decision(key, "approved", instant, actor, note)
            if token is None or first is None:
                raise refusal.wrong_token(key, given=token is not None)
            return confirmation(key, actor, instant, None, None)

        request = self._decide(key, approved)
        if request.status != "approved":
            raise refusal.wrong_token(key, given=True)
        return request

    def reject(self, key: str, actor: Actor, note: str | None = None) -> ApprovalRequest:
        """Reject, always in one step."""
        return self._decide(
            key, lambda _entry, instant: decision(key, "rejected", instant, actor, note)
        )

    def consume(self, key: str) -> ApprovalRequest:
        """Mark an approval as used, once. Whether it was used in time, policy says when it judges again before that.

        Raises ``ContractError``: ``approval.consumed`` the second time, and ``approval.undecided`` or
        ``approval.expired`` where nobody has approved.
        """
        with self._of(key) as (store, entry):
            instant = self._clock()
            request = entry.request(timestamp(instant))
            if request.status != "approved":
                raise refusal.unusable(request)
            self._append(store, [decision(key, "consumed", instant)])
            return entry.request(timestamp(instant))

    def sweep(
        self, announce: Callable[[ApprovalRequest], object] | None = None
    ) -> builtins.list[ApprovalRequest]:
        """Write down what has run out of time; every request that expired since the last sweep, each exactly once.

        ``announce`` is called for each before the change is kept; if it raises, none is changed.
        """
        if not self._expired(self._read(), self._now()):
            return []
        with self._locked(create=False) as store:
            instant = self._clock()
            now = timestamp(instant)
            keys = self._expired(store.fold, now)
            requests = [store.fold.entries[key].request(now) for key in keys]
            if announce is not None:
                for request in requests:
                    announce(request)
            self._append(store, [decision(key, "expired", instant) for key in keys])
        return requests

    @staticmethod
    def _expired(fold: Fold, now: str) -> builtins.list[str]:
        return [
            key
            for key, entry in fold.entries.items()
            if entry.outcome == "pending" and entry.status(now) == "expired"
        ]

    def _decide(self, key: str, make: Callable[[Entry, datetime], Event]) -> ApprovalRequest:
        with self._of(key) as (store, entry):
            instant = self._clock()
            now = timestamp(instant)
            request = entry.request(now)
            if request.status != "pending" or now < request.created_at:
                raise refusal.undecidable(request)
            self._append(store, [make(entry, instant)])
            return entry.request(now)

    @contextmanager
    def _of(self, key: str) -> Iterator[tuple[_Open, Entry]]:
        """One request under the lock; ``approval.unknown`` leaves a store as it is, and a missing one missing."""
        if not os.path.lexists(self.path):
            raise refusal.unknown(key)
        with self._locked(create=False) as store:
            if key not in store.fold.entries:
                raise refusal.unknown(key)
            yield store, store.fold.entries[key]

    @contextmanager
    def _locked(self, *, create: bool) -> Iterator[_Open]:
        with (
            faults.of(self.path, LOCK_S),
            locked(self.path, timeout_s=LOCK_S, create=create) as descriptor,
        ):
            yield _Open(descriptor, *self._fold(descriptor))

    def _read(self) -> Fold:
        """What the store holds; a missing one holds nothing."""
        with (
            faults.of(self.path, LOCK_S),
            suppress(FileNotFoundError),
            reading(self.path, timeout_s=LOCK_S) as descriptor,
        ):
            return self._fold(descriptor, is_done=lambda: release(descriptor))[0]
        return Fold()

    def _fold(
        self, descriptor: int, is_done: Callable[[], None] = lambda: None
    ) -> tuple[Fold, Seal]:
        size = os.fstat(descriptor).st_size
        if size > MAX_STORE:
            raise OSError(errno.EFBIG, f"larger than {MAX_STORE} bytes", str(self.path))
        fold, seal = Fold(), Seal(operator_key())
        with os.fdopen(os.dup(descriptor), "rb") as file:
            file.seek(0)
            self._feed(file, fold, seal)
        is_done()
        return fold, seal

    def _feed(self, lines: IO[bytes], fold: Fold, seal: Seal) -> None:
        number, is_open = 0, seal.is_open
        try:
            for number, line in enumerate(lines, 1):
                if not line.endswith(b"\n"):
                    raise faults.corrupt(self.path, number, "the line is unfinished")
                body = line[:-1]
                if is_open and skim(body, fold):
                    continue
                event = read_event(body)
                if not seal.follow(event, body):
                    raise faults.untrusted(self.path, number)
                fold.add(event, body)
        except ContractError as error:
            where = f"{error.field}: " if error.field else ""
            raise faults.corrupt(self.path, number, f"{where}{error.message}") from error

    def _append(self, store: _Open, events: builtins.list[Event]) -> None:
        """Write the events in one step and sync them; what could not be written whole is taken back."""
        data = b""
        for event in events:
            sealed = store.seal.close(event)
            line = write_event(sealed)
            store.seal.follow(sealed, line)
            store.fold.add(sealed, line)
            data += line + b"\n"
        descriptor = store.descriptor
        status = os.fstat(descriptor)
        if status.st_mode & 0o077:
            os.fchmod(descriptor, 0o600)
        try:
            written = os.write(descriptor, data)
            if written != len(data):
                raise OSError(errno.ENOSPC, f"only {written} of {len(data)} bytes were written")
            os.fsync(descriptor)
            sync_folder(self.path.parent)
        except OSError:
            with suppress(OSError):
                os.ftruncate(descriptor, status.st_size)
                os.fsync(descriptor)
            raise

    def _now(self) -> str:
        return timestamp(self._clock())
