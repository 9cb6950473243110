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
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tipstaff.documents.sandbox import RunLimits
from tipstaff.sandbox.hierarchies import Place, find_places, lines, words

_PREFIX = "tipstaff-run-"
_MIB = 1 << 20
# What a sandbox program takes itself, as long as the command runs: one process, and what the kernel keeps for it.
SPARE_MB = 8
SPARE_PROCESSES = 1
_GONE_S = 2.0
_POLL_S = 0.001


@dataclass
class Group:
    """The group of one run: one folder in each hierarchy, by the hierarchy's place.

    ``most`` is the number of processes that it may come to have. ``native``: what runs in it was born in it.
    ``set_up_s`` is the CPU time that the set-up took, which does not count.
    """

    folders: Mapping[Place, Path]
    most: int = 0
    native: bool = False
    set_up_s: float = 0.0

    @contextmanager
    def entered(self) -> Iterator[None]:
        """Have what the calling thread starts meanwhile in the group from its birth, where that can be had.

        Version 1 lets a thread other than the first go in and out by itself. To move a process instead, the kernel
        has to hold up every fork and exit on the machine, which takes milliseconds.
        """
        first = threading.get_native_id() == os.getpid()
        moving = [place for place in self.folders if not first and place.has_threads()]
        try:
            for place in moving:
                _write(self.folders[place] / "tasks", 0)
            self.native = len(moving) == len(self.folders)
            yield
        finally:
            for place in moving:
                _write(place.folder / "tasks", 0)

    def hold(self, processes: Iterable[int]) -> None:
        """Move in those that are not there yet; what they start later follows. Raises ``OSError``."""
        if self.native:
            return
        wanted = set(processes)
        for folder in self.folders.values():
            for pid in wanted - _members(folder):
                with contextlib.suppress(ProcessLookupError):
                    _write(folder / "cgroup.procs", pid)

    def limit_processes(self) -> None:
        """Let no more processes be started in it than the run may have, now that it is set up. Raises ``OSError``."""
        self.set_up_s = self._used_s() or 0.0
        for place, folder in self.folders.items():
            if "pids" in place.controllers:
                _write(folder / "pids.max", self.most)

    def cpu_s(self) -> float | None:
        """CPU seconds used by all that ever ran in it, after the set-up; None if that is not counted."""
        used = self._used_s()
        return None if used is None else used - self.set_up_s

    def _used_s(self) -> float | None:
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
        return set().union(*map(_members, self.folders.values())) - {os.getpid()}

    def remove(self) -> None:
        """End all that is in it, and take it away; what cannot go yet goes when the next one is made."""
        deadline = time.monotonic() + _GONE_S
        while not self._has_gone() and time.monotonic() < deadline:
            for pid in self.processes():
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.kill(pid, signal.SIGKILL)
            time.sleep(_POLL_S)

    def _has_gone(self) -> bool:
        gone = [_removed(folder) for folder in self.folders.values()]
        return all(gone)

    def _find(self, controller: str) -> tuple[Path, bool] | None:
        for place, folder in self.folders.items():
            if controller in place.controllers:
                return folder, place.unified
        return None


@contextmanager
def group(
    limits: RunLimits, *, spare_mb: int = SPARE_MB, spare_processes: int = SPARE_PROCESSES
) -> Iterator[Group | None]:
    """A group with these limits, gone afterwards; None where none can be made.

    ``spare_mb`` and ``spare_processes`` are what the backend itself needs inside it. The number of processes is
    limited when it is asked for: to set up may take more.
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
    own = [line.split(":", 2) for line in lines(Path("/proc/self/cgroup"))]
    return tuple(find_places(own, lines(Path("/proc/self/mountinfo"))))


def _make(memory_mb: int, processes: int) -> Group | None:
    name = f"{_maker(os.getpid())}-{secrets.token_hex(4)}"
    folders = {}
    for place in places():
        _sweep(place)
        folder = place.folder / name
        try:
            os.mkdir(folder)
        except OSError:
            continue
        if "memory" not in place.controllers or _limit_memory(place, folder, memory_mb * _MIB):
            folders[place] = folder
        else:
            folder.rmdir()
    return Group(folders, processes) if folders else None


def _limit_memory(place: Place, folder: Path, most: int) -> bool:
    swap: tuple[tuple[str, int], ...]
    if place.unified:
        ceiling, swap = "memory.max", (("memory.swap.max", 0),)
    else:
        ceiling = "memory.limit_in_bytes"
        swap = (("memory.swappiness", 0), ("memory.memsw.limit_in_bytes", most))
    try:
        _write(folder / ceiling, most)
    except OSError:
        return False
    for file, value in swap:
        with contextlib.suppress(OSError):  # absent where the kernel does not count swap
            _write(folder / file, value)
    return True


def _removed(folder: Path) -> bool:
    try:
        os.rmdir(folder)
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return True


def _members(folder: Path) -> set[int]:
    return {int(word) for word in words(folder, "cgroup.procs")}


def _write(file: Path, value: int) -> None:
    """Set a value; raises ``OSError``, also for a file that the kernel does not have."""
    descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC)
    try:
        os.write(descriptor, str(value).encode())
    finally:
        os.close(descriptor)


@cache
def _maker(pid: int) -> str:
    """What tells a process from every other, also from a later one with its number."""
    space = os.stat("/proc/self/ns/pid").st_ino
    return f"{_PREFIX}{space}-{pid}-{_started(pid)}"


os.register_at_fork(after_in_child=_maker.cache_clear)


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
            if not name.startswith(_PREFIX):
                continue
            parts = name.split("-")
            if len(parts) != len(own) + 1 or parts[2] != own[2]:
                continue
            if parts[3].isdigit() and _started(int(parts[3])) != parts[4]:
                Group({place: place.folder / name}).remove()


def _fields(file: Path) -> dict[str, int]:
    pairs = [line.split() for line in lines(file)]
    return {pair[0]: int(pair[1]) for pair in pairs if len(pair) == 2 and pair[1].isdigit()}


def _number(file: Path) -> int | None:
    found = lines(file)
    return int(found[0]) if found and found[0].isdigit() else None
