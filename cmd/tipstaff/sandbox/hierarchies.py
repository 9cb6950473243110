"""Where control groups can be made: the hierarchies of either version that are mounted, and our place in each."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_WANTED = ("memory", "pids", "cpuacct")


@dataclass(frozen=True)
class Place:
    """A folder of one hierarchy in which groups can be made, and for which controllers."""

    folder: Path
    controllers: frozenset[str]
    unified: bool

    def has_threads(self) -> bool:
        """Whether a thread may go into a group and come back by itself."""
        return not self.unified and os.access(self.folder / "tasks", os.W_OK)


def find_places(own: list[list[str]], mounts: list[str]) -> Iterator[Place]:
    """The places of a process in these groups (id, controllers, path), with hierarchies mounted like that."""
    for _, names, path in own:
        for root, folder, kind, options in _mounted(mounts):
            here = _below(root, folder, path)
            if here is None:
                continue
            if kind == "cgroup2" and not names:
                yield from _unified(here, folder)
                break
            shared = frozenset(names.split(",")) & frozenset(_WANTED)
            if kind == "cgroup" and shared and shared <= options and os.access(here, os.W_OK):
                yield Place(here, shared, unified=False)
                break


def _unified(here: Path, top: Path) -> Iterator[Place]:
    """The nearest group from here upwards whose children have their own limits, and which is ours to use."""
    for folder in (here, *here.parents):
        if not folder.is_relative_to(top):
            return
        given = set(words(folder, "cgroup.subtree_control"))
        writable = os.access(folder, os.W_OK) and os.access(folder / "cgroup.procs", os.W_OK)
        if {"memory", "pids"} <= given and writable:
            yield Place(folder, frozenset(_WANTED), unified=True)
            return


def _mounted(mounts: list[str]) -> Iterator[tuple[str, Path, str, set[str]]]:
    for line in mounts:
        before, _, after = line.partition(" - ")
        root, folder = before.split()[3:5]
        kind, _, options = after.split()[:3]
        if kind in ("cgroup", "cgroup2"):
            yield root, Path(folder), kind, set(options.split(","))


def _below(root: str, folder: Path, path: str) -> Path | None:
    try:
        return folder / Path(path).relative_to(root)
    except ValueError:
        return None


def words(folder: Path, file: str) -> list[str]:
    """What is in a file of a group, or nothing."""
    return " ".join(lines(folder / file)).split()


def lines(file: Path) -> list[str]:
    """The lines of a file, or none."""
    try:
        return file.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []
