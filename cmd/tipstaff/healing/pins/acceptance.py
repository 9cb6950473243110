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
from tipstaff.drift.change import Change
from tipstaff.drift.diff import diff
from tipstaff.drift.screen import difference
from tipstaff.drift.sight import first_sight, new_beside
from tipstaff.drift.versions import declared_versions
from tipstaff.engine import Engine
from tipstaff.errors import ContractError
from tipstaff.files import write_atomically
from tipstaff.healing.contracts import Found, asking, evidence, graded
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

    Raises ``ContractError`` for what is no name or no digest, and where the file can't be written; ``ActionDenied`` for
    a verdict that can't be carried out any more.
    """
    store = Candidates(engine.project.state)
    candidate = store.find(name, digest)
    lock = prepare(engine.project.state) / "contracts.lock"
    with held(lock, timeout_s=_LOCK_SECONDS):
        baseline = read_baseline(engine.project.root, name)
        changes = _changes(engine, baseline, candidate)
        document = _document(engine, baseline, candidate, digest, changes)
        verdict = engine.decide(document)
        found = candidate.snapshot if candidate else None
        shown = difference(baseline.snapshot, found) if found else None
        is_graded = found is not None and "grades" in verdict.facts
        shown_diff = graded(verdict, document, changes).diff if is_graded else None
        done = Acceptance(verdict, baseline.digest, digest, shown, shown_diff, None)
        if not verdict.is_allowed or found is None:
            return done
        engine.redeem(verdict)
        _record(engine, done, name, candidate)
        _write(engine, done, name, baseline.path, found)
    with suppress(OSError):  # what is kept of it now is a copy
        store.drop(name, digest)
    return Acceptance(verdict, baseline.digest, digest, shown, shown_diff, baseline.path)


def _changes(engine: Engine, baseline: Baseline, candidate: Candidate | None) -> tuple[Change, ...]:
    if candidate is None:
        return ()
    found, pin = candidate.snapshot, baseline.snapshot
    beside = list(others(engine.project.root, baseline.name))
    if pin is None:
        return tuple(first_sight(found, beside))
    return (*diff(pin, found), *new_beside(pin, found, beside))


def _document(
    engine: Engine,
    baseline: Baseline,
    candidate: Candidate | None,
    digest: str,
    changes: tuple[Change, ...],
) -> ContractInput:
    facts = ContractEvidence(status=baseline.status, changes=[])
    if candidate is not None:
        found, pin = candidate.snapshot, baseline.snapshot
        versions = declared_versions(pin, found) if pin else ()
        seen_by = candidate.sighting.seen_by.id if candidate.sighting else None
        facts = evidence(Found(found, baseline.digest, changes, versions), baseline.status)
        kept = CandidateFacts(digest=found.digest, server=found.server_id, seen_by=seen_by)
        facts = facts.model_copy(update={"candidate": kept})
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
