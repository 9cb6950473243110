"""Proving a trail: every record's contents, the chain, and what the witness saw. Nothing is written."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path

from tipstaff.documents.audit import Checkpoint
from tipstaff.errors import EvidenceError
from tipstaff.files import reading, release
from tipstaff.ledger import faults
from tipstaff.ledger.chain import Chain, Problem, read_lines
from tipstaff.ledger.checkpoint import Witness
from tipstaff.ledger.identity import TRAIL, TRAIL_ID, read_id

__all__ = ["Problem", "Verification", "verify"]

SHOWN_PROBLEMS = 100


@dataclass(frozen=True)
class Verification:
    """How many records were read, and every problem found (the first ones of many), in the order of the file."""

    records: int
    problems: tuple[Problem, ...]

    @property
    def is_valid(self) -> bool:
        """Whether nothing is wrong."""
        return not self.problems


@dataclass
class _Testimony:
    """What the witness says about a trail: hashes by ``seq``, and what is wrong with its papers."""

    anchors: dict[int, str] = field(default_factory=dict)
    trusted: int = 0
    latest: Checkpoint | None = None
    problems: list[Problem] = field(default_factory=list)

    def complain(self, code: str, message: str) -> None:
        """Add a problem that has no place in the file."""
        self.problems.append(Problem(0, 0, code, message))


def verify(state: Path, witness: Witness) -> Verification:
    """Check the trail in a state folder. A damaged trail is a result, whatever the damage.

    Raises ``EvidenceError`` (``trail.unreadable``) only where the system refuses to read.
    """
    found = _examine(state, witness, checked=False)
    # Thousands of signatures cost seconds, and only a complaint can rest on one.
    return found if found.is_valid else _examine(state, witness, checked=True)


def _examine(state: Path, witness: Witness, *, checked: bool) -> Verification:
    path = state / TRAIL
    with faults.reading(path):
        try:
            with reading(path) as descriptor:
                size = os.fstat(descriptor).st_size
                testimony = _hear(state, witness, has_records=size > 0, checked=checked)
                release(descriptor)
                chain = _walk(descriptor, size, testimony)
        except FileNotFoundError:
            testimony = _hear(state, witness, has_records=False, checked=checked)
            chain = Chain()
    problems = chain.problems + _missing(chain, testimony) + testimony.problems
    return Verification(chain.records, tuple(problems[:SHOWN_PROBLEMS]))


def _walk(descriptor: int, size: int, testimony: _Testimony) -> Chain:
    chain = Chain(anchors=testimony.anchors, trusted=testimony.trusted)
    torn = b""
    with os.fdopen(os.dup(descriptor), "rb", buffering=1 << 20) as file:
        for line in read_lines(file, size):
            if not line.endswith(b"\n"):
                torn = line
            else:
                chain.feed(line)
                if len(chain.problems) > SHOWN_PROBLEMS:
                    return chain
    chain.finish(torn)
    return chain


def _hear(state: Path, witness: Witness, *, has_records: bool, checked: bool) -> _Testimony:
    told = _Testimony()
    try:
        known = witness.known(state)
        kept = read_id(state / TRAIL_ID)
        if known is not None and kept is not None and known != kept:
            told.complain("trail.swapped", f"the witness first saw trail {known} here, not {kept}")
        if kept is None and has_records:
            told.complain("trail.unnamed", f"{TRAIL_ID} is missing or malformed")
        trail = known or kept
        if trail is not None:
            _collect(told, witness, trail, checked=checked)
        if told.trusted == 0 and (has_records or told.anchors) and told.latest is None:
            told.complain("checkpoint.missing", "the witness has no checkpoint of this trail")
    except EvidenceError as error:
        told.complain(error.code, f"{error.file}: {error.message}")
    return told


def _collect(told: _Testimony, witness: Witness, trail: str, *, checked: bool) -> None:
    for past in witness.history(trail):
        if not checked or witness.is_signed(past):
            told.anchors[past.seq] = past.hash
    told.latest = witness.latest(trail)
    if told.latest is not None:
        told.anchors[told.latest.seq] = told.latest.hash
        told.trusted = told.latest.seq


def _missing(chain: Chain, told: _Testimony) -> list[Problem]:
    seen = max(told.anchors, default=0)
    if seen <= chain.seq:
        return []
    code = "trail.truncated" if chain.records else "trail.missing"
    message = f"the witness saw records up to {seen}; {chain.seq + 1} and later are missing"
    return [Problem(chain.line + 1, chain.seq + 1, code, message)]
