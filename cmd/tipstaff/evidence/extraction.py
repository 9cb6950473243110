"""Writing the files of a tree into an empty folder: raw bytes, no filters, and never through a link."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tipstaff.errors import ContractError
from tipstaff.evidence import paths

REGULAR = frozenset({"100644", "100755"})
LINK = "120000"
SUBMODULE = "160000"


@dataclass(frozen=True)
class Entry:
    """One file of a tree: git's mode, object id, size in bytes (0 for a submodule) and path."""

    mode: str
    oid: str
    size: int
    path: bytes


def parse(listing: bytes) -> list[Entry]:
    """The entries of ``git ls-tree -r -l -z``; raises ``ContractError`` for a path that may not be written."""
    entries = []
    for line in listing.split(b"\0")[:-1]:
        facts, path = line.split(b"\t", 1)
        mode, _kind, oid, size = facts.decode("ascii").split()
        why = paths.refusal(path)
        if why is not None:
            raise ContractError(
                "repository.path",
                f"{paths.shown(path)!r} {why}",
                file=paths.shown(path),
                fix="rename the file in the repository",
            )
        entries.append(Entry(mode, oid, int(size) if size.isdigit() else 0, path))
    return entries


def prepare(destination: Path) -> None:
    """Make the folder; raises ``ContractError`` unless it is, or becomes, an empty real folder."""
    destination.mkdir(mode=0o700, parents=True, exist_ok=True)
    if destination.is_symlink() or any(destination.iterdir()):
        raise ContractError(
            "repository.destination",
            "the folder to extract into is not empty",
            file=str(destination),
            fix="name an empty folder",
        )


def write(destination: Path, files: Iterable[tuple[Entry, bytes]]) -> None:
    """Write each file at its path below the folder; regular files get 0644 or 0755, links stay links."""
    root = os.open(destination, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        for entry, data in files:
            _write_one(root, entry, data)
    except OSError as error:
        raise ContractError(
            "repository.extract",
            f"{error.strerror or error} while writing a file of the tree",
            file=os.fsdecode(error.filename) if error.filename else None,
            fix="look for two names that this file system holds to be the same, and for space",
        ) from error
    finally:
        os.close(root)


def _write_one(root: int, entry: Entry, data: bytes) -> None:
    *folders, name = entry.path.split(b"/")
    with _folder(root, folders) as parent:
        if entry.mode == LINK:
            os.symlink(data, name, dir_fd=parent)
            return
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
        mode = 0o755 if entry.mode == "100755" else 0o644
        with open(os.open(name, flags, mode, dir_fd=parent), "wb") as file:
            file.write(data)
            os.fchmod(file.fileno(), mode)


@contextmanager
def _folder(root: int, names: list[bytes]) -> Iterator[int]:
    current = os.dup(root)
    try:
        for name in names:
            below = _enter(current, name)
            os.close(current)
            current = below
        yield current
    finally:
        os.close(current)


def _enter(parent: int, name: bytes) -> int:
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
    try:
        return os.open(name, flags, dir_fd=parent)
    except FileNotFoundError:
        os.mkdir(name, 0o755, dir_fd=parent)
        return os.open(name, flags, dir_fd=parent)
