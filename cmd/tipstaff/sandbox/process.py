"""Running one process under limits: what it writes is capped while it is read, and its tree ends with it."""

from __future__ import annotations

import contextlib
import os
import resource
import selectors
import signal
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from tipstaff.documents.sandbox import RunLimits
from tipstaff.sandbox.cgroup import Group
from tipstaff.sandbox.usage import measure

TIMEOUT_EXIT_CODE = 124
KILLED_EXIT_CODE = 128 + signal.SIGKILL
_MIB = 1 << 20
_CHUNK_BYTES = 1 << 16
_TICK_S = 0.05
_FOLDER_TICK_S = 0.005
_GRACE_S = 5.0
_DRAIN_S = 0.5


@dataclass(frozen=True)
class Supervised:
    """A started process, the root of the tree to measure, and how to end that tree.

    ``memory`` gives bytes that the tree holds and no process of it has mapped.
    """

    process: subprocess.Popen[bytes]
    root_pid: int
    kill: Callable[[], None]
    is_cancelled: Callable[[], bool] = lambda: False
    memory: Callable[[], int] = lambda: 0


@dataclass(frozen=True)
class Ended:
    """How it went. ``killed`` means by us, for ``limit``; ``oom`` is None where that cannot be told."""

    timed_out: bool
    killed: bool
    oom: bool | None
    stdout: bytes
    stderr: bytes
    truncated: bool
    limit: str | None = None


@dataclass
class _Sink:
    """The first bytes of a stream; the rest is read and thrown away."""

    limit: int
    data: bytearray = field(default_factory=bytearray)
    truncated: bool = False

    def add(self, chunk: bytes) -> None:
        room = self.limit - len(self.data)
        self.data += chunk[:room]
        self.truncated = self.truncated or len(chunk) > room


@dataclass
class _Watch:
    """Why the tree has to end, once there is a reason; ``limit`` is the field that was exceeded."""

    limits: RunLimits
    deadline: float
    group: Group | None = None
    folders: tuple[int, ...] = ()
    limit: str | None = None
    reason: bool = False

    def check(self, supervised: Supervised) -> bool:
        """Look at clock and usage; whether the tree must end now."""
        if time.monotonic() >= self.deadline:
            self.limit = "wall_s"
        elif supervised.is_cancelled():
            self.reason = True
        elif self.group is not None and self.group.oom():
            self.limit = "memory_mb"
        else:
            self.limit = self._used_up(supervised)
        self.reason = self.reason or self.limit is not None
        return self.reason

    def check_folders(self) -> bool:
        """Look at the number of inodes in each writable folder; whether the tree must end now."""
        for folder in self.folders:
            if _inodes(folder) > self.limits.inodes:
                self.limit, self.reason = "inodes", True
        return self.reason

    def _used_up(self, supervised: Supervised) -> str | None:
        cpu = self.group.cpu_s() if self.group is not None else None
        if cpu is None or self.group is None or self.group.oom() is None:
            ceiling = self.limits.memory_mb * _MIB
            usage = measure(supervised.root_pid, memory_limit=ceiling)
            if max(usage.memory_bytes, supervised.memory()) > ceiling:
                return "memory_mb"
            cpu = usage.cpu_s if cpu is None else cpu
        return "cpu_s" if cpu > self.limits.cpu_s else None

    def oom(self) -> bool | None:
        """Whether memory ran out; None where only the kernel could tell, and does not."""
        if self.limit == "memory_mb":
            return True
        return self.group.oom() if self.group is not None else None


def _inodes(folder: int) -> int:
    filled = os.fstatvfs(folder)
    return filled.f_files - filled.f_ffree


def restrict(pid: int, limits: RunLimits) -> None:
    """Set the kernel's limits for a process and what it starts later; raises ``OSError`` if it is gone.

    Memory is limited as private writable memory: programs reserve address space freely.
    """
    memory = limits.memory_mb * _MIB
    wanted = {
        resource.RLIMIT_CPU: (limits.cpu_s, limits.cpu_s + 1),
        resource.RLIMIT_DATA: (memory, memory),
        resource.RLIMIT_NPROC: (limits.processes, limits.processes),
        resource.RLIMIT_NOFILE: (limits.open_files, limits.open_files),
        resource.RLIMIT_FSIZE: (limits.file_size_mb * _MIB, limits.file_size_mb * _MIB),
        resource.RLIMIT_CORE: (0, 0),
        resource.RLIMIT_MSGQUEUE: (0, 0),
    }
    for which, pair in wanted.items():
        ceiling = resource.prlimit(pid, which)[1]
        if ceiling == resource.RLIM_INFINITY:
            resource.prlimit(pid, which, pair)
        else:
            resource.prlimit(pid, which, (min(pair[0], ceiling), min(pair[1], ceiling)))


def supervise(
    supervised: Supervised,
    limits: RunLimits,
    *,
    group: Group | None = None,
    folders: tuple[int, ...] = (),
) -> Ended:
    """Read both streams until the process ends or a limit is hit; the tree is gone when this returns.

    ``group`` holds all of it, where there is one. ``folders`` are descriptors of file systems whose inodes count.
    """
    process = supervised.process
    assert process.stdout is not None and process.stderr is not None  # noqa: S101 (both are pipes)
    sinks = {stream: _Sink(limits.output_bytes) for stream in (process.stdout, process.stderr)}
    watch = _Watch(limits, time.monotonic() + limits.wall_s, group, folders)
    pidfd = os.pidfd_open(process.pid)
    try:
        with selectors.DefaultSelector() as selector:
            selector.register(pidfd, selectors.EVENT_READ)
            for stream, sink in sinks.items():
                selector.register(stream, selectors.EVENT_READ, sink)
            _pump(selector, supervised, watch)
    finally:
        end(supervised)
        os.close(pidfd)
        for stream in sinks:
            stream.close()
    out, err = sinks.values()
    return Ended(
        timed_out=watch.limit == "wall_s",
        killed=watch.reason,
        oom=watch.oom(),
        stdout=bytes(out.data),
        stderr=bytes(err.data),
        truncated=out.truncated or err.truncated,
        limit=watch.limit,
    )


def end(supervised: Supervised) -> None:
    """Kill the tree and collect its root, whatever state it is in."""
    supervised.kill()
    with contextlib.suppress(ProcessLookupError):
        supervised.process.kill()
    supervised.process.wait()


def _pump(selector: selectors.BaseSelector, supervised: Supervised, watch: _Watch) -> None:
    next_look = time.monotonic()
    tick = _FOLDER_TICK_S if watch.folders else _TICK_S
    stop: float | None = None
    while selector.get_map() and (stop is None or time.monotonic() < stop):
        for key, _ in selector.select(tick):
            sink = key.data
            chunk = os.read(key.fd, _CHUNK_BYTES) if sink else b""
            if chunk:
                sink.add(chunk)
                continue
            selector.unregister(key.fileobj)
            if sink is None:  # the process ended; what still holds its streams must not hold us
                stop = time.monotonic() + _DRAIN_S
        if stop is not None:
            continue
        must_end = watch.check_folders()
        if not must_end and time.monotonic() >= next_look:
            must_end = watch.check(supervised)
            next_look = time.monotonic() + _TICK_S
        if must_end:
            supervised.kill()
            stop = time.monotonic() + _GRACE_S
