"""The audit trail: append-only JSON lines, hash-chained, durable before ``append`` returns, witnessed elsewhere.

A record proves what this program wrote and in which order. It does not prove it against somebody who can also read
the witness's key.
"""

from __future__ import annotations

import os
import weakref
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Self

from tipstaff.documents.audit import AuditRecord
from tipstaff.documents.context import Actor
from tipstaff.documents.text import visible
from tipstaff.errors import ContractError, EvidenceError
from tipstaff.files import reading, release
from tipstaff.ledger import faults
from tipstaff.ledger.chain import Chain, read_lines
from tipstaff.ledger.checkpoint import Witness
from tipstaff.ledger.record import EFFECTS, MAX_SEQ, NewRecord, read_record
from tipstaff.ledger.verification import Problem, Verification, verify
from tipstaff.ledger.writer import Writer
from tipstaff.project import utc_now

_SHORTEST = 8

__all__ = ["NewRecord", "Problem", "Trail", "Verification"]


class Trail:
    """The trail of one state folder. Opening touches no file; threads and processes may share one trail."""

    def __init__(
        self, state: Path, *, witness: Path, clock: Callable[[], datetime] = utc_now
    ) -> None:
        self._state = state.absolute()
        self._witness = Witness(witness)
        self._writer = Writer(self._state, self._witness, clock)
        # An interpreter that ends without close() still leaves a checkpoint.
        self._at_end = weakref.finalize(self, _close_quietly, self._writer)

    @property
    def path(self) -> Path:
        """The file of the records."""
        return self._writer.path

    def append(self, *records: NewRecord) -> list[AuditRecord]:
        """Write a group of records in one step and sync it to disk before returning.

        Raises ``EvidenceError`` (``trail.*``, ``checkpoint.*``), and then nothing may be carried out; ``ContractError``
        where a record is not valid, with nothing written.
        """
        return self._writer.append(records) if records else []

    def records(self) -> Iterator[AuditRecord]:
        """All complete records in order, without an unfinished last line and isolated torn ones.

        Raises ``EvidenceError`` (``trail.corrupt``) at a line that is no record. The chain is for ``verify`` to prove.
        """
        for number, line in self._lines():
            yield self._record(number, line)

    def find(self, decision_id: str) -> AuditRecord:
        """The decision with this id, or else the first record that bears it.

        An id may be cut to its first characters, eight at least. Raises ``ContractError``: ``trail.unknown`` where no
        record bears it, ``trail.ambiguous`` where several ids begin so.
        """
        found: dict[str, AuditRecord] = {}
        wanted = decision_id.encode("utf-8", "replace")
        for number, line in self._lines():
            if not wanted or wanted not in line:
                continue
            record = self._record(number, line)
            name = record.decision_id or ""
            if not name.startswith(decision_id):
                continue
            if name == decision_id and record.decision in EFFECTS:
                return record
            if name not in found or record.decision in EFFECTS:
                found[name] = record
        if decision_id in found:
            return found[decision_id]
        if len(found) == 1 and len(decision_id) >= _SHORTEST:
            return next(iter(found.values()))
        raise self._unknown(decision_id, len(found))

    def _unknown(self, decision_id: str, matches: int) -> ContractError:
        message = f"no record has the decision id {decision_id}"
        if matches:
            message = f"{matches} decisions begin with {decision_id}; eight characters are needed"
        return ContractError(
            "trail.ambiguous" if matches else "trail.unknown",
            message,
            file=str(self.path),
            fix="`tipstaff audit list` shows the ids",
        )

    def verify(self) -> Verification:
        """Prove the whole trail against itself and the witness; writes nothing."""
        return verify(self._state, self._witness)

    def restart(self, actor: Actor, reason: str) -> AuditRecord:
        """Set the trail aside and begin a new one; its first record says who, why, and what the witness last saw.

        For a trail that is damaged or gone and cannot be put back. Raises ``EvidenceError``.
        """
        before = self._writer.set_aside()
        detail = {"reason": visible(reason), "before": before}
        return self.append(
            NewRecord(decision="restarted", target="audit-trail", detail=detail, actor=actor)
        )[0]

    def close(self) -> None:
        """Leave a checkpoint of what was appended. Raises ``EvidenceError``."""
        self._writer.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _lines(self) -> Iterator[tuple[int, bytes]]:
        """The lines that are records, with their numbers."""
        with (
            faults.reading(self.path),
            suppress(FileNotFoundError),
            reading(self.path) as descriptor,
        ):
            size = os.fstat(descriptor).st_size
            release(descriptor)
            chain = Chain(trusted=MAX_SEQ)
            with os.fdopen(os.dup(descriptor), "rb") as file:
                for line in read_lines(file, size):
                    if not line.endswith(b"\n"):
                        return
                    is_record = chain.feed(line)
                    self._demand_records(chain)
                    if is_record:
                        yield chain.line, line
            chain.finish()
            self._demand_records(chain)

    def _demand_records(self, chain: Chain) -> None:
        for problem in chain.problems:
            if problem.code == "trail.malformed":
                raise faults.corrupt(self.path, problem.line, problem.message)
        chain.problems.clear()

    def _record(self, number: int, line: bytes) -> AuditRecord:
        try:
            return read_record(line)
        except ContractError as error:
            raise faults.corrupt(self.path, number, error.message) from error


def _close_quietly(writer: Writer) -> None:
    with suppress(EvidenceError):
        writer.close()
