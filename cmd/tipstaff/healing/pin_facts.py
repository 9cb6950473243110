"""Pinned contracts that a change touches, measured between the base commit and the patched tree.

Every change is measured, whoever makes it, so that a pin cannot move under a name that says something else.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import PurePosixPath

from tipstaff.documents import strict_json
from tipstaff.documents.base import Json, parse
from tipstaff.documents.contract import MAX_BYTES, SUFFIX, Snapshot, snapshot, whole_numbers
from tipstaff.documents.contract_facts import ContractChange, ContractVersion
from tipstaff.documents.drift_facts import DriftFacts, PinFacts
from tipstaff.drift.change import Change
from tipstaff.errors import ContractError
from tipstaff.evidence import paths
from tipstaff.evidence.diff import Patch
from tipstaff.evidence.repository import Repository

FOLDER = "contracts"
# Whatever some file system takes for a pinned contract; policy says which are, and misses what is not measured.
_PINNED = re.compile(rf"{FOLDER}/[^/]+{re.escape(SUFFIX)}", re.IGNORECASE)


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
    repository: Repository, patch: Patch, observed: str | None = None
) -> DriftFacts | None:
    """What a patch does to each pinned contract; None where it touches none.

    ``observed`` is the digest of what the server was seen to advertise.
    """
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


def _measure(repository: Repository, patch: Patch, path: str, observed: str | None) -> PinFacts:
    server = PurePosixPath(path).name[: -len(SUFFIX)]
    old, was_there = _read(repository, patch.base, path)
    new, is_there = _read(repository, patch.tree, path)
    facts = PinFacts(
        server=server,
        path=path,
        old_digest=old.digest if old else None,
        new_digest=new.digest if new else None,
        observed_digest=observed,
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
    from tipstaff.drift.versions import declared_versions

    if old is None:
        from tipstaff.drift.sight import first_sight

        return {"status": "unbaselined", "changes": facts_of(first_sight(new, beside))}
    versions = [ContractVersion(**version) for version in declared_versions(old, new)]
    found = changes(old, new, beside)
    return {"status": "compared", "changes": facts_of(found), "versions": versions}


def changes(old: Snapshot, new: Snapshot, beside: list[Snapshot]) -> list[Change]:
    """What changed, and what a changed contract shows beside those of other servers that it did not show before."""
    from tipstaff.drift.diff import diff
    from tipstaff.drift.sight import first_sight

    known = {tool["name"] for tool in old.tools}
    names = [
        change
        for change in first_sight(new, beside)
        if change.facts.get("server") is not None and change.tool not in known
    ]
    return [*diff(old, new), *names]


def facts_of(found: list[Change]) -> list[ContractChange]:
    """Changes as policy sees them."""
    known = ContractChange.model_fields.keys()
    return [
        parse(
            ContractChange,
            {name: value for name, value in change.as_fact().items() if name in known}
            | {"tools": list(change.tools)},
        )
        for change in found
    ]
