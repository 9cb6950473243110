"""Pinned contracts that a change touches, measured between the base commit and the patched tree.

Every change is measured, whoever makes it, so that a pin cannot move under a name that says something else.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath

from tipstaff.documents.contract import SUFFIX, Snapshot, snapshot_of
from tipstaff.documents.contract_facts import CanaryOutcome
from tipstaff.documents.drift_facts import DriftFacts, PinFacts
from tipstaff.errors import ContractError
from tipstaff.evidence import extraction, paths
from tipstaff.evidence.diff import Patch
from tipstaff.evidence.repository import Repository
from tipstaff.healing.contracts import evidence, found_in
from tipstaff.healing.pin_paths import is_pin, touched


@dataclass(frozen=True)
class Observed:
    """What a server was seen to advertise, by its digest, and what came of its recorded calls."""

    digest: str
    canaries: tuple[CanaryOutcome, ...] = ()


def pinned(repository: Repository, commit: str, path: str) -> Snapshot | None:
    """The contract that is pinned at a path of a commit or tree, None where there is none.

    Raises ``ContractError`` for a file that is no snapshot.
    """
    data = repository.blob(commit, path)
    return None if data is None else snapshot_of(data, file=path)


def others(repository: Repository, commit: str, path: str) -> list[Snapshot]:
    """The contracts of other servers that are pinned in a commit; a file that is no snapshot is left out."""
    return _beside(_pins(repository, commit), path)


def measured(
    repository: Repository, patch: Patch, observed: Observed | None = None
) -> DriftFacts | None:
    """What a patch does to each pinned contract; None where it touches none."""
    names = touched(patch)
    if not names:
        return None
    pins = _pins(repository, patch.base), _pins(repository, patch.tree, names)
    return DriftFacts(contracts=[_measure(*pins, name, observed) for name in sorted(names)])


def _pins(
    repository: Repository, tree: str, names: Collection[str] | None = None
) -> dict[str, Snapshot | None]:
    """What is pinned in a commit or tree by path, or those of some names; None for what is no snapshot."""
    wanted = {paths.shown(entry.path): entry for entry in repository.entries(tree)}
    wanted = {
        name: entry
        for name, entry in wanted.items()
        if is_pin(name) and (names is None or name in names)
    }
    files = [entry.oid for entry in wanted.values() if entry.mode in extraction.REGULAR]
    data = repository.blobs(files) if files else {}
    return {name: _read(data.get(entry.oid), name) for name, entry in wanted.items()}


def _read(data: bytes | None, path: str) -> Snapshot | None:
    try:
        return None if data is None else snapshot_of(data, file=path)
    except ContractError:
        return None


def _beside(pins: Mapping[str, Snapshot | None], path: str) -> list[Snapshot]:
    return [pin for name, pin in pins.items() if name != path and pin is not None]


def _measure(
    before: Mapping[str, Snapshot | None],
    after: Mapping[str, Snapshot | None],
    path: str,
    observed: Observed | None,
) -> PinFacts:
    server = PurePosixPath(path).name[: -len(SUFFIX)]
    old, new = before.get(path), after.get(path)
    facts = PinFacts(
        server=server,
        path=path,
        old_digest=old.digest if old else None,
        new_digest=new.digest if new else None,
        observed_digest=observed.digest if observed else None,
        canaries=list(observed.canaries) if observed else [],
    )
    if path not in after:
        return facts.model_copy(update={"status": "removed"})
    if new is None or (path in before and old is None):
        return facts.model_copy(update={"status": "unreadable"})
    if new.server_id != server or (old is not None and old.server_id != server):
        return facts.model_copy(update={"status": "foreign"})
    found = evidence(found_in(old, new, _beside(before, path)))
    compared = {"status": found.status, "changes": found.changes, "versions": found.versions}
    return facts.model_copy(update=compared)
