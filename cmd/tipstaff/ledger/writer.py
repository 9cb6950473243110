"""The one way bytes get into a trail: lock, follow to the end, one write, one sync, and a checkpoint when due."""

from __future__ import annotations

import errno
import math
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from threading import Lock

from tipstaff.documents.audit import AuditRecord, Checkpoint
from tipstaff.documents.base import Json
from tipstaff.errors import ContractError
from tipstaff.files import locked, private_folder, sync_folder
from tipstaff.ledger import faults, tail
from tipstaff.ledger.chain import Chain, Region
from tipstaff.ledger.checkpoint import LOCK_SECONDS, Witness
from tipstaff.ledger.identity import TRAIL, identify, set_aside
from tipstaff.ledger.record import MAX_SEQ, ZERO_HASH, NewRecord, read_record, seal
from tipstaff.project import timestamp

CHECKPOINT_SECONDS = 1.0
CHECKPOINT_RECORDS = 1000


@dataclass
class _Head:
    """The end of the valid records as last seen, and the file's own size and times then."""

    file: tuple[int, int]
    size: int
    changed_ns: int
    seq: int
    hash: str


class Writer:
    """Appends to one trail. Safe between threads, processes and after a fork."""

    def __init__(self, state: Path, witness: Witness, clock: Callable[[], datetime]) -> None:
        self.path = state / TRAIL
        self._state = state
        self._witness = witness
        self._clock = clock
        self._mutex = Lock()
        self._head: _Head | None = None
        self._trail = ""
        self._anchor: Checkpoint | None = None
        self._signed_at = -math.inf
        self._since_anchor: dict[int, str] = {}
        self._appended = False

    def append(self, new: Sequence[NewRecord]) -> list[AuditRecord]:
        """Write a group durably. Raises ``EvidenceError`` (nothing counts as written) or ``ContractError``."""
        with self._mutex, faults.writing(self.path):
            private_folder(self._state)
            with locked(self.path, timeout_s=LOCK_SECONDS) as descriptor:
                region, adopted = self._follow(descriptor)
                records, data, seen = self._sealed(new, region, adopted)
                self._write(descriptor, data)
                self._advance(descriptor, seen)
                self._appended = True
                if self._is_due():
                    self._sign()
        return records

    def set_aside(self) -> Json:
        """Move the trail away, whatever state it is in, so that the next record begins a new one."""
        with self._mutex, faults.writing(self.path):
            private_folder(self._state)
            with locked(self.path, timeout_s=LOCK_SECONDS):
                before = set_aside(self._state, self._witness, timestamp(self._clock()))
            self._head, self._trail, self._anchor = None, "", None
            self._since_anchor.clear()
            self._appended = False
        return before

    def close(self) -> None:
        """Checkpoint what this writer appended. Raises ``EvidenceError``."""
        with self._mutex, faults.writing(self.path):
            if not self._appended:
                return
            with locked(self.path, timeout_s=LOCK_SECONDS) as descriptor:
                self._follow(descriptor)
                self._sign()
            self._appended = False

    def _follow(self, descriptor: int) -> tuple[Region | None, bytes]:
        """Bring the head to the end of the file; what lies beyond it, and the whole record in there if it is one."""
        status, head = os.fstat(descriptor), self._head
        if (
            head is None
            or head.file != (status.st_dev, status.st_ino)
            or (status.st_size == head.size and status.st_mtime_ns != head.changed_ns)
        ):
            offset = self._open(descriptor, status)
            anchor = self._anchor
            assert anchor is not None  # noqa: S101  _open() demands one
            chain = Chain(seq=anchor.seq, head=anchor.hash, trusted=anchor.seq, is_whole=False)
            self._since_anchor = {anchor.seq: anchor.hash}
        elif status.st_size == head.size:
            return None, b""
        elif status.st_size < head.size:
            raise faults.rolled_back(self.path, head.seq, tail.last_seq(descriptor, status.st_size))
        else:
            offset = head.size
            chain = Chain(seq=head.seq, head=head.hash, trusted=MAX_SEQ, is_whole=False)
        return self._extend(descriptor, status, offset, chain)

    def _extend(
        self, descriptor: int, status: os.stat_result, offset: int, chain: Chain
    ) -> tuple[Region | None, bytes]:
        line = torn = b""
        with os.fdopen(os.dup(descriptor), "rb") as file:
            file.seek(offset)
            for piece in tail.read_lines(file, status.st_size - offset):
                if not piece.endswith(b"\n"):
                    torn = piece
                elif chain.feed(line := piece):
                    self._since_anchor[chain.seq] = chain.hash
        adopted = b""
        if torn and chain.region is None and tail.is_next(torn + b"\n", chain):
            adopted = torn + b"\n"
        if torn:
            chain.tear(torn)
        region = chain.region
        self._demand_sound(descriptor, offset, chain, line, torn)
        if region is not None:
            region.line += tail.count_lines(descriptor, offset)
        self._head = _Head(
            file=(status.st_dev, status.st_ino),
            size=offset + chain.good_bytes,
            changed_ns=status.st_mtime_ns,
            seq=chain.seq,
            hash=chain.hash,
        )
        return region, adopted

    def _demand_sound(
        self, descriptor: int, offset: int, chain: Chain, last: bytes, torn: bytes
    ) -> None:
        problem = chain.problems[0] if chain.problems else None
        if problem is not None:
            line, message = problem.line, problem.message
        elif chain.region is not None and not torn:
            line, message = chain.region.line, "not a record"
        else:
            try:
                if last and chain.region is None:
                    read_record(last)
                return
            except ContractError as error:
                line, message = chain.line, error.message
        line += tail.count_lines(descriptor, offset)
        raise faults.corrupt(self.path, line, message)

    def _open(self, descriptor: int, status: os.stat_result) -> int:
        """Read who this trail is and what the witness last saw; the offset after the last witnessed record."""
        is_empty = status.st_size == 0
        self._trail = identify(self._state, self._witness, is_empty=is_empty)
        anchor = self._witness.latest(self._trail)
        if anchor is None:
            if not is_empty or self._witness.history(self._trail):
                raise faults.unwitnessed(self.path, self._witness.folder)
            now = timestamp(self._clock())
            anchor = self._witness.sign(self._trail, seq=0, head=ZERO_HASH, at=now)
        self._anchor = anchor
        offset = tail.locate(descriptor, status.st_size, anchor)
        if offset is not None:
            return offset
        found = tail.last_seq(descriptor, status.st_size)
        if found < anchor.seq:
            raise faults.rolled_back(self.path, anchor.seq, found)
        raise faults.rewritten(self.path, anchor.seq)

    def _sealed(
        self, new: Sequence[NewRecord], region: Region | None, adopted: bytes
    ) -> tuple[list[AuditRecord], bytes, dict[int, str]]:
        head = self._head
        assert head is not None  # noqa: S101  _follow() has set it
        seq, prev, data, seen = head.seq, head.hash, b"", {}
        group = list(new)
        if region is not None:
            data, detail = b"\n", region.detail()
            if adopted:
                record = read_record(adopted)
                seq, prev, detail = record.seq, record.hash, {**detail, "complete": True}
                seen[seq] = prev
            group.insert(0, NewRecord("torn-tail", TRAIL, detail, new[0].actor))
        records = []
        for item in group:
            record, line = seal(item, seq=seq + 1, prev=prev, at=timestamp(self._clock()))
            seq, prev, data = record.seq, record.hash, data + line
            seen[seq] = prev
            records.append(record)
        return records[len(group) - len(new) :], data, seen

    def _write(self, descriptor: int, data: bytes) -> None:
        size = os.fstat(descriptor).st_size
        try:
            written = os.write(descriptor, data)
            if written != len(data):
                raise OSError(errno.ENOSPC, f"only {written} of {len(data)} bytes were written")
            os.fsync(descriptor)
            if size == 0:
                sync_folder(self._state)
        except OSError:
            _take_back(descriptor, size)
            raise

    def _advance(self, descriptor: int, seen: dict[int, str]) -> None:
        status = os.fstat(descriptor)
        seq, digest = next(reversed(seen.items()))
        self._head = _Head(
            file=(status.st_dev, status.st_ino),
            size=status.st_size,
            changed_ns=status.st_mtime_ns,
            seq=seq,
            hash=digest,
        )
        self._since_anchor.update(seen)

    def _is_due(self) -> bool:
        return (
            len(self._since_anchor) > CHECKPOINT_RECORDS
            or time.monotonic() - self._signed_at >= CHECKPOINT_SECONDS
        )

    def _sign(self) -> None:
        head = self._head
        latest = self._witness.latest(self._trail)
        assert head is not None  # noqa: S101  only called after _follow()
        if latest is None:
            raise faults.unwitnessed(self.path, self._witness.folder)
        if latest.seq > head.seq:
            raise faults.rolled_back(self.path, latest.seq, head.seq)
        if self._since_anchor.get(latest.seq) != latest.hash:
            raise faults.rewritten(self.path, latest.seq)
        if latest.seq < head.seq:
            now = timestamp(self._clock())
            latest = self._witness.sign(self._trail, seq=head.seq, head=head.hash, at=now)
        self._anchor = latest
        self._since_anchor = {latest.seq: latest.hash}
        self._signed_at = time.monotonic()


def _take_back(descriptor: int, size: int) -> None:
    try:
        os.ftruncate(descriptor, size)
        os.fsync(descriptor)
    except OSError:
        # The next writer isolates what is left.
        return
