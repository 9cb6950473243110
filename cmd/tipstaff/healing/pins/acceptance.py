"""The one way a committed snapshot moves: a person accepts the bytes whose digest was shown, and that is on record."""

from __future__ import annotations

import hashlib
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from tipstaff.documents.base import Json
from tipstaff.documents.contract import Snapshot, text
from tipstaff.documents.contract_diff import ContractDiff
from tipstaff.documents.contract_facts import CandidateFacts, ContractEvidence
from tipstaff.documents.input import ContractInput, ContractResource
from tipstaff.documents.verdict import Verdict
from tipstaff.drift.candidates import Candidate, Candidates
from tipstaff.drift.screen import difference
from tipstaff.engine import Engine
from tipstaff.errors import ContractError
from tipstaff.files import write_atomically
from tipstaff.healing.contracts import Found, asking, evidence, found_in, graded
from tipstaff.healing.pins.baseline import Baseline, others, read_baseline
from tipstaff.ledger.trail import NewRecord
from tipstaff.pdp.places import held
from tipstaff.project import prepare

_LOCK_SECONDS = 30.0


@dataclass(frozen=True)
class Acceptance:
    """What came of it. ``shown`` is what the person saw of the candidate, None where there is no such candidate.

    ``file`` is the snapshot that was written, None where policy refused.
    """

    verdict: Verdict
    old_digest: str | None
    new_digest: str
    shown: str | None
    diff: ContractDiff | None
    file: Path | None

    @property
    def shown_sha256(self) -> str | None:
        """SHA-256 of what was shown, as it is recorded."""
        return None if self.shown is None else hashlib.sha256(self.shown.encode()).hexdigest()


def accept(engine: Engine, name: str, digest: str) -> Acceptance:
    """Let policy judge the acceptance of a candidate, record it, and only then write the snapshot.

    Raises ``ContractError`` for what is no name or no digest, for a snapshot of another server that can't be relied on,
    and where the file can't be written; ``ActionDenied`` for a verdict that can't be carried out any more.
    """
    store = Candidates(engine.project.state)
    candidate = store.find(name, digest)
    lock = prepare(engine.project.state) / "contracts.lock"
    with held(lock, timeout_s=_LOCK_SECONDS):
        baseline = read_baseline(engine.project.root, name)
        seen = _found(engine, baseline, candidate)
        document = _document(engine, baseline, candidate, digest, seen)
        verdict = engine.decide(document)
        found = seen.new if seen else None
        shown = difference(baseline.snapshot, found) if found else None
        is_graded = "grades" in verdict.facts
        shown_diff = graded(verdict, document, seen.changes).diff if seen and is_graded else None
        done = Acceptance(verdict, baseline.digest, digest, shown, shown_diff, None)
        if not verdict.is_allowed or found is None:
            return done
        engine.redeem(verdict)
        _record(engine, done, name, candidate)
        _write(engine, done, name, baseline.path, found)
    with suppress(OSError):  # what is kept of it now is a copy
        store.drop(name, digest)
    return Acceptance(verdict, baseline.digest, digest, shown, shown_diff, baseline.path)


def _found(engine: Engine, baseline: Baseline, candidate: Candidate | None) -> Found | None:
    if candidate is None:
        return None
    beside = others(engine.project.root, baseline.name, each=True)
    return found_in(baseline.snapshot, candidate.snapshot, list(beside))


def _document(
    engine: Engine,
    baseline: Baseline,
    candidate: Candidate | None,
    digest: str,
    seen: Found | None,
) -> ContractInput:
    facts = ContractEvidence(status=baseline.status, changes=[])
    if candidate is not None and seen is not None:
        seen_by = candidate.sighting.seen_by.id if candidate.sighting else None
        kept = CandidateFacts(digest=seen.new.digest, server=seen.new.server_id, seen_by=seen_by)
        facts = evidence(seen, baseline.status).model_copy(update={"candidate": kept})
    resource = ContractResource(id=baseline.name, old_digest=baseline.digest, new_digest=digest)
    return asking(engine, resource, "accept", facts)


def _record(engine: Engine, done: Acceptance, name: str, candidate: Candidate | None) -> None:
    sighting = candidate.sighting if candidate else None
    detail: Json = {
        "server": name,
        "old_digest": done.old_digest,
        "new_digest": done.new_digest,
        "shown_sha256": done.shown_sha256,
        "seen": sighting.model_dump() if sighting else None,
    }
    engine.trail.append(
        NewRecord(
            decision="accepted",
            target=name,
            detail=detail,
            actor=engine.actor,
            decision_id=done.verdict.decision_id,
            bundle_revision=done.verdict.policy.revision or None,
        )
    )


def _write(engine: Engine, done: Acceptance, name: str, path: Path, found: Snapshot) -> None:
    try:
        write_atomically(path, text(found).encode(), mode=0o644)
    except OSError as error:
        reason = error.strerror or str(error)
        engine.trail.append(
            NewRecord(
                decision="failed",
                target=name,
                detail={"file": str(path), "error": reason},
                actor=engine.actor,
                decision_id=done.verdict.decision_id,
            )
        )
        raise ContractError(
            "file.unwritable",
            reason,
            file=str(path),
            fix="make the folder writable, and accept the contract again",
        ) from error
