"""One control group a run, where this process may make some: hard ceilings for all processes of the run together.

Version 1 and 2 are used, each below the group that this process is in. A group is named after its maker, so what a
killed maker left is known, and goes when the next one is made. Where none can be made, kernel limits for each process
and the supervisor's own measuring stand alone.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import signal
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tipstaff.documents.sandbox import RunLimits

_PREFIX = "tipstaff-run-"
_WANTED = ("memory", "pids", "cpuacct")
_MIB = 1 << 20
_GONE_S = 2.0
_POLL_S = 0.001


@dataclass(frozen=True)
class Place:
    """A folder of one hierarchy in which groups can be made, and for which controllers."""

    folder: Path
    controllers: frozenset[str]
    unified: bool


@dataclass(frozen=True)
class Group:
    """The group of one run: one folder in each hierarchy, by the hierarchy's place."""

    folders: Mapping[Place, Path]

    def add(self, pid: int) -> None:
        """Move a process in; what it starts later follows. Raises ``OSError``."""
        for folder in self.folders.values():
            (folder / "cgroup.procs").write_text(str(pid), encoding="ascii")

    def cpu_s(self) -> float | None:
        """CPU seconds used by all that ever ran in it; None if that is not counted."""
        found = self._find("cpuacct")
        if found is None:
            return None
        folder, unified = found
        if unified:
            used = _fields(folder / "cpu.stat").get("usage_usec")
            return None if used is None else used / 1e6
        used = _number(folder / "cpuacct.usage")
        return None if used is None else used / 1e9

    def oom(self) -> bool | None:
        """Whether the kernel ended something for want of memory; None if it does not say."""
        found = self._find("memory")
        if found is None:
            return None
        folder, unified = found
        kills = _fields(folder / ("memory.events" if unified else "memory.oom_control"))
        return kills["oom_kill"] > 0 if "oom_kill" in kills else None

    def processes(self) -> set[int]:
        """Who is in it now."""
        return {
            int(word) for folder in self.folders.values() for word in _words(folder, "cgroup.procs")
        }

    def remove(self) -> None:
        """End all that is in it, and take it away; what cannot go yet goes when the next one is made."""
        deadline = time.monotonic() + _GONE_S
        while not self._has_gone() and time.monotonic() < deadline:
            for pid in self.processes():
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.kill(pid, signal.SIGKILL)
            time.sleep(_POLL_S)

    def _has_gone(self) -> bool:
        for folder in self.folders.values():
            with contextlib.suppress(OSError):
                folder.rmdir()
        return not any(folder.exists() for folder in self.folders.values())

    def _find(self, controller: str) -> tuple[Path, bool] | None:
        for place, folder in self.folders.items():
            if controller in place.controllers:
                return folder, place.unified
        return None


@contextmanager
def group(
    limits: RunLimits, *, spare_mb: int = 0, spare_processes: int = 0
) -> Iterator[Group | None]:
    """A group with these limits, gone afterwards; None where none can be made.

    ``spare_mb`` and ``spare_processes`` are what the backend itself needs inside it.
    """
    made = _make(limits.memory_mb + spare_mb, limits.processes + spare_processes)
    try:
        yield made
    finally:
        if made is not None:
            made.remove()


@cache
def places() -> tuple[Place, ...]:
    """Where groups can be made here."""
    own = [line.split(":", 2) for line in _lines(Path("/proc/self/cgroup"))]
    return tuple(find_places(own, _lines(Path("/proc/self/mountinfo"))))


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
        given = set(_words(folder, "cgroup.subtree_control"))
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


def _make(memory_mb: int, processes: int) -> Group | None:
    name = f"{_maker(os.getpid())}-{secrets.token_hex(4)}"
    folders = {}
    for place in places():
        _sweep(place)
        folder = place.folder / name
        try:
            folder.mkdir()
        except OSError:
            continue
        if _limit(place, folder, memory_mb * _MIB, processes):
            folders[place] = folder
        else:
            folder.rmdir()
    return Group(folders) if folders else None


def _limit(place: Place, folder: Path, memory: int, processes: int) -> bool:
    wanted = {}
    if "pids" in place.controllers:
        wanted["pids.max"] = processes
    if "memory" in place.controllers:
        wanted["memory.max" if place.unified else "memory.limit_in_bytes"] = memory
    try:
        for file, value in wanted.items():
            (folder / file).write_text(str(value), encoding="ascii")
    except OSError:
        return False
    swap = (
        ("memory.swap.max", 0),
        ("memory.swappiness", 0),
        ("memory.memsw.limit_in_bytes", memory),
    )
    for file, value in swap if "memory" in place.controllers else ():
        if (folder / file).exists():  # absent where the kernel does not count swap
            with contextlib.suppress(OSError):
                (folder / file).write_text(str(value), encoding="ascii")
    return True


def _maker(pid: int) -> str:
    """What tells a process from every other, also from a later one with its number."""
    space = os.stat("/proc/self/ns/pid").st_ino
    return f"{_PREFIX}{space}-{pid}-{_started(pid)}"


def _started(pid: int) -> str | None:
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    return text.rpartition(")")[2].split()[19]


def _sweep(place: Place) -> None:
    """Remove the groups of makers that were killed, of this pid namespace only."""
    own = _maker(os.getpid()).split("-")
    with contextlib.suppress(OSError):
        for name in os.listdir(place.folder):
            parts = name.split("-")
            if not name.startswith(_PREFIX) or len(parts) != len(own) + 1 or parts[2] != own[2]:
                continue
            if parts[3].isdigit() and _started(int(parts[3])) != parts[4]:
                Group({place: place.folder / name}).remove()


def _words(folder: Path, file: str) -> list[str]:
    return " ".join(_lines(folder / file)).split()


def _fields(file: Path) -> dict[str, int]:
    pairs = [line.split() for line in _lines(file)]
    return {pair[0]: int(pair[1]) for pair in pairs if len(pair) == 2 and pair[1].isdigit()}


def _number(file: Path) -> int | None:
    lines = _lines(file)
    return int(lines[0]) if lines and lines[0].isdigit() else None


def _lines(file: Path) -> list[str]:
    try:
        return file.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []
