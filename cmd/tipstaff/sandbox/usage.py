"""What a tree of processes uses, read from ``/proc`` of the host."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass

_TICKS = os.sysconf("SC_CLK_TCK")
_KIB = 1024


@dataclass(frozen=True)
class Usage:
    """CPU seconds used so far, and bytes of memory held now, by a process and all its descendants."""

    cpu_s: float
    memory_bytes: int


def measure(pid: int, *, memory_limit: int) -> Usage:
    """The usage of the tree below ``pid``; processes that end meanwhile count as nothing.

    Pages that processes share are counted once each as soon as a plain sum would exceed ``memory_limit``.
    """
    found = list(tree(pid))
    memory = sum(_resident(process) for process in found)
    if memory > memory_limit:
        memory = sum(_proportional(process) for process in found)
    return Usage(sum(_cpu(process) for process in found), memory)


def tree(pid: int) -> Iterator[int]:
    """A process and all its descendants, those that end meanwhile perhaps among them."""
    waiting, seen = [pid], {pid}
    while waiting:
        process = waiting.pop()
        yield process
        for child in _children(process):
            if child not in seen:
                seen.add(child)
                waiting.append(child)


def _children(pid: int) -> list[int]:
    try:
        threads = os.listdir(f"/proc/{pid}/task")
    except OSError:
        return []
    found = []
    for thread in threads:
        found += [int(word) for word in _read(f"/proc/{pid}/task/{thread}/children").split()]
    return found


def _cpu(pid: int) -> float:
    fields = _read(f"/proc/{pid}/stat").rpartition(")")[2].split()
    return sum(int(ticks) for ticks in fields[11:15]) / _TICKS


def _resident(pid: int) -> int:
    return _field_sum(f"/proc/{pid}/status", ("RssAnon:", "RssShmem:"))


def _proportional(pid: int) -> int:
    shares = _field_sum(f"/proc/{pid}/smaps_rollup", ("Pss_Anon:", "Pss_Shmem:"))
    return shares or _resident(pid)


def _field_sum(path: str, names: tuple[str, ...]) -> int:
    lines = (line.split() for line in _read(path).splitlines())
    return sum(int(line[1]) for line in lines if line and line[0] in names) * _KIB


def _read(path: str) -> str:
    try:
        with open(path, encoding="ascii", errors="replace") as file:
            return file.read()
    except OSError:
        return ""
