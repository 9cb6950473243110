"""Making one tree out of another by naming entries; nothing of the user's own is read or written."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path

from tipstaff.evidence import paths
from tipstaff.evidence.repository import Repository

_PLAIN = "100644"
_DIFF = ("diff-tree", "-p", "--binary", "--full-index", "--no-renames", "--no-ext-diff")


def edited(repository: Repository, tree: str, files: Mapping[str, bytes]) -> str:
    """The tree with the files written, by their paths; a file that is there keeps its mode."""
    modes = {entry.path: entry.mode for entry in repository.entries(tree)}
    lines = []
    for name, data in files.items():
        path = paths.raw(name)
        blob = repository.run("hash-object", "-w", "--no-filters", "--stdin", stdin=data).strip()
        lines.append(entry_line(modes.get(path, _PLAIN), blob.decode("ascii"), path))
    return with_entries(repository, tree, b"".join(lines))


def difference(repository: Repository, base: str, tree: str) -> bytes:
    """The unified diff between two trees or commits, as git makes it without anybody's settings."""
    return repository.compare(*_DIFF, "--no-textconv", "--no-color", base, tree)


def entry_line(mode: str, oid: str, path: bytes) -> bytes:
    """One line for ``with_entries``; mode ``0`` removes the path."""
    return f"{mode} {oid}\t".encode() + path + b"\0"


def with_entries(repository: Repository, tree: str, lines: bytes) -> str:
    """The tree with entries set as ``git update-index --index-info`` reads them."""
    with tempfile.TemporaryDirectory(prefix="tipstaff-edit-") as folder:
        env = {"GIT_INDEX_FILE": str(Path(folder, "index"))}
        repository.run("read-tree", tree, env=env)
        repository.run("update-index", "--replace", "-z", "--index-info", stdin=lines, env=env)
        return repository.run("write-tree", env=env).decode("ascii").strip()
