"""Which files of a policy folder an edit touches, against a commit."""

from __future__ import annotations

from collections.abc import Set
from pathlib import Path, PurePosixPath

from tipstaff.errors import ContractError
from tipstaff.evidence.repository import Repository

_TESTS = "_test.rego"


def path_within(repository: Repository, folder: Path) -> str:
    """The folder's path in the repository, empty for its root.

    Raises ``ContractError`` (``repository.path``) for a folder outside.
    """
    root = repository.root.resolve()
    try:
        path = folder.resolve().relative_to(root).as_posix()
    except ValueError as error:
        raise ContractError(
            "repository.path",
            f"the policy folder lies outside the repository {root}",
            file=str(folder),
            fix="name a folder of this repository, or run in the folder's own one",
        ) from error
    return "" if path == "." else path


def tree_at(repository: Repository, commit: str, path: str) -> str | None:
    """The id of the tree at a path of a commit; None where there is none."""
    if not path:
        return commit
    line = repository.run("ls-tree", "-z", "--full-tree", commit, "--", path)
    if not line:
        return None
    _mode, kind, oid = line.split(b"\t", 1)[0].decode("ascii").split()
    return oid if kind == "tree" else None


def differing(repository: Repository, commit: str, folder: Path) -> set[str]:
    """The files of a folder that are not what they were at a commit, or are new or gone; paths are below it."""
    tree = tree_at(repository, commit, path_within(repository, folder))
    entries = {entry.path: entry for entry in repository.entries(tree)} if tree else {}
    here = {
        bytes(file.relative_to(folder)): file.read_bytes()
        for file in folder.rglob("*")
        if file.is_file()
    }
    shared = [path for path in here if path in entries]
    stored = repository.blobs(entries[path].oid for path in shared)
    same = {path for path in shared if stored[entries[path].oid] == here[path]}
    return {path.decode(errors="replace") for path in (here.keys() | entries.keys()) - same}


def is_touched(path: str, changed: Set[str]) -> bool:
    """Whether a file is to be looked at again: it changed, or so did a test beside it."""
    beside = PurePosixPath(path).parent
    return path in changed or any(
        one.endswith(_TESTS) and PurePosixPath(one).parent == beside for one in changed
    )
