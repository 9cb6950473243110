"""Starting a program that isolates, with the command inside held back until everything around it is ready.

A shell inside waits for a line of ours. It is sent when the limits of the run stand, every mount is as it has to be,
and the first process inside is under the system call filter. That process asks to die with its parent before that, so
from here on our own end is the end of everything inside, however it comes; and if we end before, the line never comes.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import secrets
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, field

from tipstaff.documents.sandbox import RunLimits
from tipstaff.errors import SandboxError
from tipstaff.sandbox import identity, mounts
from tipstaff.sandbox.backend import SCRATCH, RunSpec
from tipstaff.sandbox.cgroup import Group
from tipstaff.sandbox.collection import Collected, take
from tipstaff.sandbox.diagnosis import without_command
from tipstaff.sandbox.layout import TMPFS
from tipstaff.sandbox.process import (
    KILLED_EXIT_CODE,
    TIMEOUT_EXIT_CODE,
    Ended,
    Supervised,
    end,
    restrict,
    supervise,
)
from tipstaff.sandbox.run import Finished, Start
from tipstaff.sandbox.usage import tree

_SETUP_S = 10.0
_POLL_S = 0.001
_GATE_POLL_S = 0.0002
_WORD_BYTES = 8  # each letter of it is a system call of the shell's
_DIE_WITH_PARENT = 1
_libc = ctypes.CDLL(None)


@dataclass(frozen=True)
class Ways:
    """How one backend differs: finding its first process inside, opening its own gate, and telling its end.

    ``refusal`` turns its complaints and exit code into an error; ``exit_code`` gives the command's own, or None.
    """

    child: Callable[[subprocess.Popen[bytes], float], int | None]
    refusal: Callable[[bytes, int | None], SandboxError]
    exit_code: Callable[[subprocess.Popen[bytes]], int | None]
    unlock: Callable[[], None] = lambda: None


@dataclass(frozen=True)
class Running:
    """A program that is set up or setting up, with its command still held back until it reads ``word``."""

    supervised: Supervised
    ways: Ways
    deadline: float
    group: Group | None = None
    word: str = field(default_factory=lambda: secrets.token_hex(_WORD_BYTES), repr=False)

    def complete(self, spec: RunSpec) -> Finished:
        """Let the command run to its end or to a limit, and take out what it was asked for."""
        limits = spec.profile.limits
        with ExitStack() as stack:
            folders = self._open_folders(spec)
            for folder in folders.values():
                stack.callback(os.close, folder)
            self._restrict(limits)
            self._release(spec)
            unbounded = [f for f in folders.values() if os.fstatvfs(f).f_files > limits.inodes]
            ended = supervise(self.supervised, limits, group=self.group, folders=tuple(unbounded))
            taken = take(folders[SCRATCH], spec.outputs, root=SCRATCH)
        return self.judge(ended, taken)

    def judge(self, ended: Ended, taken: Collected) -> Finished:
        """What a run came to that has ended; raises ``SandboxError`` if its command never started."""
        process = self.supervised.process
        exit_code = self.ways.exit_code(process)
        if ended.timed_out:
            return Finished(TIMEOUT_EXIT_CODE, ended, taken.files, taken.refused)
        if exit_code is None and (ended.killed or ended.oom):
            return Finished(KILLED_EXIT_CODE, ended, taken.files, taken.refused)
        said = without_command(ended.stderr, exit_code, self.word)
        if exit_code is None or said is not None:
            raise self.ways.refusal(said or ended.stderr, process.returncode)
        return Finished(exit_code, ended, taken.files, taken.refused)

    def failure(self) -> SandboxError:
        """Why the set-up failed; ends what is left of it."""
        process = self.supervised.process
        end(self.supervised)
        assert process.stderr is not None  # noqa: S101 (it is a pipe)
        os.set_blocking(
            process.stderr.fileno(), False
        )  # whoever else still holds it must not hold us
        return self.ways.refusal(process.stderr.read(1 << 16) or b"", process.returncode)

    def _open_folders(self, spec: RunSpec) -> dict[str, int]:
        """A descriptor of each writable folder inside, once the input is there.

        It keeps the folder readable after everything inside has ended.
        """
        inside = f"/proc/{self.supervised.root_pid}/root"
        wanted = spec.workdir.stat()
        while time.monotonic() < self.deadline:
            with contextlib.suppress(OSError):
                if os.path.samestat(os.stat(inside + spec.work), wanted):
                    return open_all(inside, TMPFS)
            if self.supervised.process.poll() is not None:
                break
            time.sleep(_POLL_S)
        raise self.failure()

    def _restrict(self, limits: RunLimits) -> None:
        """Set the kernel's limits for everything inside."""
        inside = list(tree(self.supervised.root_pid))
        try:
            if self.group is not None:
                self.group.hold(inside)
                self.group.limit_processes()
            with identity.borrowed():
                for pid in inside:
                    restrict(pid, limits)
        except OSError as error:
            end(self.supervised)
            raise SandboxError(
                "sandbox.setup",
                f"the limits of a run cannot be set: {error.strerror or error}",
                fix="run as an ordinary user, outside a container that filters prlimit",
            ) from error

    def _release(self, spec: RunSpec) -> None:
        """Let the command start, under the system call filter, and bound to our own life."""
        standard_input = self.supervised.process.stdin
        assert standard_input is not None  # noqa: S101 (it is a pipe)
        try:
            self.ways.unlock()
            self._await_filter()
            mounts.check(self.supervised.root_pid, spec)
            standard_input.write(f"{self.word}\n".encode())
            standard_input.close()
        except OSError as error:
            raise self.failure() from error

    def _await_filter(self) -> None:
        while time.monotonic() < self.deadline:
            with open(f"/proc/{self.supervised.root_pid}/status", "rb") as file:
                if b"\nSeccomp:\t2\n" in file.read():
                    return
            if self.supervised.process.poll() is not None:
                break
            time.sleep(_GATE_POLL_S)
        raise self.failure()


@contextmanager
def held_back(
    process: subprocess.Popen[bytes], start: Start, ways: Ways, group: Group | None = None
) -> Iterator[Running]:
    """What was started, in ``group``, with no go given yet; nothing of it is left afterwards.

    Raises ``SandboxError`` if its set-up fails at once.
    """
    deadline = time.monotonic() + _SETUP_S
    with ExitStack() as stack:
        for stream in (process.stdin, process.stdout, process.stderr):
            stack.callback(stream.close)  # type: ignore[union-attr]
        supervised = Supervised(process, process.pid, lambda: _kill_session(process.pid))
        stack.callback(end, supervised)
        child = ways.child(process, deadline)
        pidfd = None if child is None else _pidfd(child)
        if child is None or pidfd is None:
            raise Running(supervised, ways, deadline, group).failure()
        stack.callback(os.close, pidfd)

        def kill() -> None:
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(pidfd, signal.SIGKILL)

        stack.callback(kill)
        yield Running(Supervised(process, child, kill, start.is_cancelled), ways, deadline, group)


def spawn(
    argv: Sequence[str],
    descriptors: Sequence[int],
    *,
    fix: str,
    group: Group | None = None,
    ends_with_us: bool = True,
) -> subprocess.Popen[bytes]:
    """Start a program as nobody's, with an empty environment and these descriptors; raises ``SandboxError``.

    It is in ``group`` from its first moment, or as soon as can be. ``ends_with_us`` is for a program that does not
    itself ask for its parent's end to be its own.
    """
    try:
        with group.entered() if group else nullcontext(), identity.shed():
            process = subprocess.Popen(
                list(argv),
                bufsize=0,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env={},
                cwd="/",
                umask=0o022,
                close_fds=True,
                pass_fds=tuple(descriptors),
                start_new_session=True,
                # It asks the kernel twice and takes no lock that another thread might hold.
                preexec_fn=_bound_to(os.getpid()) if ends_with_us else None,  # noqa: PLW1509
            )
    except (OSError, ValueError, subprocess.SubprocessError) as error:
        raise SandboxError(
            "sandbox.setup",
            f"{argv[0]} cannot be started: {error}",
            fix=f"{fix}; as root, allow changing to uid 65534 (CAP_SETUID)",
        ) from error
    if group is not None:
        with contextlib.suppress(
            OSError
        ):  # what is not held by now is held before the command starts
            group.hold({process.pid})
    return process


def only_child(process: subprocess.Popen[bytes], deadline: float) -> int | None:
    """The first process that a program starts, by the kernel's own list."""
    file = f"/proc/{process.pid}/task/{process.pid}/children"
    while time.monotonic() < deadline:
        over = process.poll() is not None
        with contextlib.suppress(OSError), open(file, encoding="ascii") as children:
            words = children.read().split()
            if words:
                return int(words[0])
        if over:
            break
        time.sleep(_GATE_POLL_S)
    return None


def _kill_session(leader: int) -> None:
    """End a program and what it has started, as long as that has made no session of its own."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(leader, signal.SIGKILL)


def _bound_to(parent: int) -> Callable[[], None]:
    def bind() -> None:
        _libc.prctl(_DIE_WITH_PARENT, signal.SIGKILL.value, 0, 0, 0)
        if os.getppid() != parent:
            os._exit(1)

    return bind


def open_all(inside: str, places: Sequence[str]) -> dict[str, int]:
    """Descriptors of folders below the root of a process, as we see it; the caller closes them."""
    opened: dict[str, int] = {}
    try:
        for place in places:
            opened[place] = os.open(inside + place, os.O_PATH | os.O_DIRECTORY)
    except OSError:
        for descriptor in opened.values():
            os.close(descriptor)
        raise
    return opened


def _pidfd(pid: int) -> int | None:
    try:
        return os.pidfd_open(pid)
    except ProcessLookupError:
        return None
