"""gVisor: ``runsc``, a kernel in user space, started in a bubblewrap of its own.

bubblewrap gives what ``runsc`` lacks: folders of limited size and number of files, a life that ends with ours, and
no path of the host but the listed ones for gVisor's own processes. The number of processes is limited by the guest's
own kernel, and memory by what the whole tree holds: gVisor takes a process's limit on private memory for ``brk`` alone.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import time
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

from tipstaff.documents.sandbox import SandboxProfile
from tipstaff.documents.text import visible
from tipstaff.errors import SandboxError
from tipstaff.sandbox import cgroup
from tipstaff.sandbox.backend import SCRATCH, RunSpec
from tipstaff.sandbox.bubblewrap import backend as bubblewrap
from tipstaff.sandbox.bubblewrap.backend import BubblewrapBackend
from tipstaff.sandbox.bubblewrap.status import Status
from tipstaff.sandbox.cgroup import Group
from tipstaff.sandbox.collection import take
from tipstaff.sandbox.gvisor import bundle
from tipstaff.sandbox.gvisor import program as runsc
from tipstaff.sandbox.gvisor.control import limit_processes, open_memory
from tipstaff.sandbox.launch import Running, Ways, held_back, open_all, spawn
from tipstaff.sandbox.process import supervise
from tipstaff.sandbox.run import Finished, ProbedBackend, Start, home
from tipstaff.sandbox.usage import tree

NAME = "gvisor"
INSTALL = "run `tipstaff sandbox install gvisor`, which takes Go and some minutes"
programs = runsc.programs
_BLOCK_BYTES = 512
_BROKEN_EXIT_CODE = 128
_LOG_BYTES = 1 << 16
# What gVisor's own processes take beside the guest's: measured at 20 MiB and 40 threads, more with each guest's.
_SPARE_MB = 64
_SPARE_PROCESSES = 512


class GvisorBackend(ProbedBackend):
    """Runs commands under one ``runsc`` and one bubblewrap."""

    name = NAME
    remedy = "run `tipstaff sandbox install gvisor`, and unset TIPSTAFF_RUNSC"

    def __init__(
        self, program: Path, profile: SandboxProfile, *, launcher: Path | None = None
    ) -> None:
        super().__init__(program, profile)
        found = bubblewrap.programs()
        self._launcher = launcher or (found[0] if found else Path("/usr/bin/bwrap"))

    def argv(self, spec: RunSpec) -> list[str]:
        """See ``SandboxBackend.argv``."""
        return [str(self._launcher), *bundle.arguments(spec, self._program)]

    def version(self) -> str | None:
        """See ``ProbedBackend.version``."""
        found = runsc.version(self._program)
        return f"{NAME} {found}" if found else None

    def needed(self) -> tuple[Path, ...]:
        """See ``ProbedBackend.needed``."""
        return (home(self._launcher, BubblewrapBackend.libraries),)

    def finish(self, start: Start) -> Finished:
        """See ``ProbedBackend.finish``."""
        [folder] = self.needed()
        launcher = (start.sources or {}).get(folder, folder) / self._launcher.relative_to(folder)
        with ExitStack() as stack:
            limits = start.spec.profile.limits
            group = stack.enter_context(
                cgroup.group(limits, spare_mb=_SPARE_MB, spare_processes=_SPARE_PROCESSES)
            )
            status = Status()
            stack.callback(status.close)
            process = _spawn(start, launcher, status.descriptor, group)
            ways = Ways(
                child=status.child_of,
                refusal=_refusal,
                exit_code=lambda _: status.exit_code(),
            )
            running = stack.enter_context(held_back(process, start, ways, group))
            return _complete(running, start.spec)


def _complete(running: Running, spec: RunSpec) -> Finished:
    """Set the limits, let the command run to its end or to one of them, and take out what it was asked for."""
    limits, group = spec.profile.limits, running.group
    root = f"/proc/{running.supervised.root_pid}/root"
    control = root + bundle.CONTROL
    with ExitStack() as stack:
        folders = open_all(root, tuple(bundle.WRITABLE.values()))
        memory = open_memory(control, timeout_s=_left(running))
        log = os.open(root + bundle.LOG, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        for descriptor in (memory, log, *folders.values()):
            stack.callback(os.close, descriptor)
        limit_processes(control, bundle.CGROUP, limits.processes, timeout_s=_left(running))
        if group is not None:
            group.hold(tree(running.supervised.root_pid))
            group.limit_processes()
        watched = replace(
            running.supervised, memory=lambda: os.fstat(memory).st_blocks * _BLOCK_BYTES
        )
        _release(running)
        ended = supervise(watched, limits, group=group, folders=tuple(folders.values()))
        taken = take(folders[bundle.WRITABLE[SCRATCH]], spec.outputs, root=SCRATCH)
        said = os.pread(log, _LOG_BYTES, 0)
    finished = running.judge(ended, taken)
    if finished.exit_code == _BROKEN_EXIT_CODE and said:
        raise _broken(said)
    return finished


def _left(running: Running) -> float:
    """The seconds that the set-up may still take."""
    return max(running.deadline - time.monotonic(), 0.1)


def _release(running: Running) -> None:
    """Let the command start.

    Our own end is the end of all by now: bubblewrap's first process dies with us, and everything inside with that.
    """
    standard_input = running.supervised.process.stdin
    assert standard_input is not None  # noqa: S101 (it is a pipe)
    with contextlib.suppress(BrokenPipeError):
        standard_input.write(f"{running.word}\n".encode())
    standard_input.close()


def _spawn(
    start: Start, launcher: Path, status: int, group: Group | None
) -> subprocess.Popen[bytes]:
    config = os.memfd_create("tipstaff-config")
    try:
        with open(config, "wb", closefd=False) as file:
            file.write(json.dumps(bundle.config(start.spec)).encode())
        os.lseek(config, 0, os.SEEK_SET)
        fixed = ("--json-status-fd", str(status), "--file", str(config), bundle.CONFIG)
        inner = bundle.arguments(start.spec, start.program, start.sources)
        line = (str(launcher), *fixed, *inner)
        return spawn(
            line,
            (status, config),
            fix=BubblewrapBackend.remedy,
            group=group,
            ends_with_us=False,
        )
    finally:
        os.close(config)


def _refusal(stderr: bytes, exit_code: int | None) -> SandboxError:
    """The error for a gVisor, or a bubblewrap around it, that ended before its command began."""
    if b"container: " not in stderr:
        return bubblewrap.setup_failure(stderr, exit_code)
    return _broken(stderr)


def _broken(complaint: bytes) -> SandboxError:
    said = visible(complaint.decode("utf-8", "replace").strip(), limit=500)
    return SandboxError(
        "sandbox.setup",
        f"gvisor: runsc did not set up a sandbox: {said}",
        fix="see what this host keeps from it: `runsc --rootless --network=none do true`",
    )
