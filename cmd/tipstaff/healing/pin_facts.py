"""Pinned contracts that a change touches, measured between the base commit and the patched tree.

Every change is measured, whoever makes it, so that a pin cannot move under a name that says something else.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath

from tipstaff.documents import strict_json
from tipstaff.documents.base import Json
from tipstaff.documents.contract import MAX_BYTES, SUFFIX, Snapshot, snapshot, whole_numbers
from tipstaff.documents.contract_facts import CanaryOutcome
from tipstaff.documents.drift_facts import DriftFacts, PinFacts
from tipstaff.drift.change import Change
from tipstaff.drift.diff import diff
from tipstaff.drift.sight import first_sight, new_beside
from tipstaff.drift.versions import declared_versions
from tipstaff.errors import ContractError
from tipstaff.evidence import paths
from tipstaff.evidence.diff import Patch
from tipstaff.evidence.repository import Repository
from tipstaff.healing.contracts import Found, evidence

FOLDER = "contracts"
# Whatever some file system takes for a pinned contract; policy says which are, and misses what is not measured.
_PINNED = re.compile(rf"{FOLDER}/[^/]+{re.escape(SUFFIX)}", re.IGNORECASE)


@dataclass(frozen=True)
class Observed:
    """What a server was seen to advertise, by its digest, and what came of its recorded calls."""

    digest: str
    canaries: tuple[CanaryOutcome, ...] = ()


def place(server: str) -> str:
    """Where the contract of a server is pinned."""
    return f"{FOLDER}/{server}{SUFFIX}"


def pinned(repository: Repository, commit: str, path: str) -> Snapshot | None:
    """The contract that is pinned at a path of a commit or tree, None where there is none.

    Raises ``ContractError`` for a file that is no snapshot.
    """
    data = repository.blob(commit, path)
    if data is None:
        return None
    value = strict_json.loads(data, file=path, max_bytes=MAX_BYTES, any_form=True)
    return snapshot(whole_numbers(value), file=path)


def others(repository: Repository, commit: str, path: str) -> Iterator[Snapshot]:
    """The contracts of other servers that are pinned in a commit; a file that is no snapshot is left out."""
    for entry in repository.entries(commit):
        name = paths.shown(entry.path)
        if name != path and _PINNED.fullmatch(name):
            found, _ = _read(repository, commit, name)
            if found is not None:
                yield found


def measured(
    repository: Repository, patch: Patch, observed: Observed | None = None
) -> DriftFacts | None:
    """What a patch does to each pinned contract; None where it touches none."""
    names = {
        name
        for file in patch.files
        for name in (file.path, file.old_path)
        if name is not None and _PINNED.fullmatch(name)
    }
    if not names:
        return None
    return DriftFacts(
        contracts=[_measure(repository, patch, name, observed) for name in sorted(names)]
    )


def _measure(
    repository: Repository, patch: Patch, path: str, observed: Observed | None
) -> PinFacts:
    server = PurePosixPath(path).name[: -len(SUFFIX)]
    old, was_there = _read(repository, patch.base, path)
    new, is_there = _read(repository, patch.tree, path)
    facts = PinFacts(
        server=server,
        path=path,
        old_digest=old.digest if old else None,
        new_digest=new.digest if new else None,
        observed_digest=observed.digest if observed else None,
        canaries=list(observed.canaries) if observed else [],
    )
    if not is_there:
        return facts.model_copy(update={"status": "removed"})
    if new is None or (was_there and old is None):
        return facts.model_copy(update={"status": "unreadable"})
    if new.server_id != server or (old is not None and old.server_id != server):
        return facts.model_copy(update={"status": "foreign"})
    beside = list(others(repository, patch.base, path))
    return facts.model_copy(update=_compared(old, new, beside))


def _read(repository: Repository, tree: str, path: str) -> tuple[Snapshot | None, bool]:
    """The contract at a path, if it can be read, and whether anything is there."""
    try:
        found = pinned(repository, tree, path)
    except ContractError:
        return None, True
    if found is None:
        entry = paths.raw(path)
        return None, any(one.path == entry for one in repository.entries(tree))
    return found, True


def _compared(old: Snapshot | None, new: Snapshot, beside: list[Snapshot]) -> Json:
    found, status = changes(old, new, beside)
    versions = declared_versions(old, new) if old else ()
    digest = old.digest if old else None
    facts = evidence(Found(new, digest, found, versions), status)
    return {"status": status, "changes": facts.changes, "versions": facts.versions}


def changes(
    old: Snapshot | None, new: Snapshot, beside: list[Snapshot]
) -> tuple[list[Change], str]:
    """What changed, also as it looks beside other servers' contracts, and whether there was one to compare with."""
    if old is None:
        return first_sight(new, beside), "unbaselined"
    return [*diff(old, new), *new_beside(old, new, beside)], "compared"
