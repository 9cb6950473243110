"""What every backend that runs a program of the host shares: its probe, its record, and who starts it.

A backend adds its arguments, and how one run of them starts and ends.
"""

from __future__ import annotations

import subprocess
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, replace
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from tipstaff.documents.sandbox import Refused, SandboxProfile, SandboxResult
from tipstaff.documents.text import visible
from tipstaff.errors import SandboxError
from tipstaff.project import timestamp
from tipstaff.sandbox import identity, layout, prober
from tipstaff.sandbox.backend import Probe, RunSpec
from tipstaff.sandbox.folder import temporary_folder
from tipstaff.sandbox.process import Ended

_VERSION_S = 5.0


@dataclass(frozen=True)
class Start:
    """What to start: a run, by which program, with host paths taken from ``sources``."""

    spec: RunSpec
    program: Path
    sources: Mapping[Path, Path] | None = None
    is_cancelled: Callable[[], bool] = lambda: False


@dataclass(frozen=True)
class Finished:
    """How a command that really started went, with what it left."""

    exit_code: int
    ended: Ended
    outputs: dict[str, bytes]
    refused: tuple[Refused, ...] = ()


class ProbedBackend(ABC):
    """Runs commands under one program, with the protections that one profile asks for.

    ``remedy`` says where to get a program that isolates; ``libraries`` is a glob for what a wheel ships beside it.
    """

    name: str
    remedy: str
    libraries: str = ""

    def __init__(self, program: Path, profile: SandboxProfile) -> None:
        self._program = program
        self._profile = profile

    @abstractmethod
    def argv(self, spec: RunSpec) -> list[str]:
        """See ``SandboxBackend.argv``."""

    @abstractmethod
    def finish(self, start: Start) -> Finished:
        """Run a command to its end; raises ``SandboxError`` if it never started."""

    def unenforced(self) -> tuple[str, ...]:
        """The fields of ``RunLimits`` that this backend cannot enforce here."""
        return ()

    def needed(self) -> tuple[Path, ...]:
        """Folders of the host, besides the program's own, that it takes to start one."""
        return ()

    def probe(self) -> Probe:
        """See ``SandboxBackend.probe``; the first call costs one short run."""
        return self._probe

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
        input_sha256 = spec.input_sha256
        started_at = timestamp()
        begun = time.monotonic()
        finished = self._as_somebody(spec)
        required = set(self._profile.required_protections)
        isolated = spec.profile.isolated and required <= set(probe.held)
        result = SandboxResult(
            backend=self.name,
            backend_version=probe.version,
            kernel=probe.kernel,
            profile=spec.profile.name,
            isolated=isolated,
            warm=False,
            held=list(probe.held),
            **outcome(finished),
            limits=spec.profile.limits,
            started_at=started_at,
            duration_ms=round((time.monotonic() - begun) * 1000),
            spec_sha256=spec.spec_sha256,
            input_sha256=input_sha256,
        )
        return result, finished.outputs

    @cached_property
    def _probe(self) -> Probe:
        blank = Probe(self.name, available=False, program=str(self._program))
        try:
            seen = prober.observe(self._profile, self._as_somebody_quietly)
            blank = replace(blank, held=seen.held, kernel=seen.kernel)
            blank = replace(blank, version=self.version(), unenforced=self.unenforced())
        except SandboxError as error:
            return replace(blank, reason=error.message, fix=error.fix)
        except OSError as error:
            fix = "make room for temporary files, and descriptors"
            return replace(blank, reason=f"the probe cannot be prepared: {error}", fix=fix)
        missing = [name for name in self._profile.required_protections if name not in seen.held]
        if missing:
            details = "; ".join(seen.complaints.get(name, name) for name in missing)
            reason = f"it ran, but did not hold: {', '.join(missing)} ({details})"
            return replace(blank, reason=reason, fix=self.remedy)
        if self._profile.isolated and blank.unenforced:
            reason = f"it ran, but cannot limit here: {', '.join(blank.unenforced)}"
            return replace(blank, reason=reason, fix=self.remedy)
        return replace(blank, available=True)

    def version(self) -> str | None:
        """What the program says it is; asked only of a program that has proved to work."""
        try:
            answer = subprocess.run(
                [self._program, "--version"],
                env={},
                cwd="/",
                capture_output=True,
                timeout=_VERSION_S,
                check=False,
                **identity.dropped(),
            )
        except (OSError, subprocess.SubprocessError):
            return None
        lines = answer.stdout.decode("utf-8", "replace").strip().splitlines()
        return visible(lines[0], limit=80) if lines else None

    def _as_somebody_quietly(self, spec: RunSpec) -> tuple[int, Ended]:
        finished = self._as_somebody(spec)
        return finished.exit_code, finished.ended

    def _as_somebody(self, spec: RunSpec) -> Finished:
        """Run as this user; as root, as uid 65534. Raises ``SandboxError`` for whatever keeps it from running."""
        try:
            if identity.is_real_root():
                return self._as_nobody(spec)
            return self.finish(Start(spec, self._program))
        except OSError as error:
            raise SandboxError(
                "sandbox.setup",
                f"{self.name}: a run cannot be prepared: {error}",
                fix="free disk space and descriptors; as root, allow changing to uid 65534 "
                "(CAP_SETUID, CAP_CHOWN, and no user namespace without that uid)",
            ) from error

    def _as_nobody(self, spec: RunSpec) -> Finished:
        """Run as uid 65534, in a thread that may hide mounts from the others."""
        identity.hand_over(spec.workdir)
        cancelled = threading.Event()

        def work() -> Finished:
            own = home(self._program, self.libraries)
            wanted = (spec.workdir, *layout.visible(spec), own, *self.needed())
            hidden = [path for path in wanted if not identity.has_reached(path)]
            if not hidden:
                return self.finish(Start(spec, self._program, None, cancelled.is_set))
            with temporary_folder() as folder, identity.staged(hidden, folder) as sources:
                program = sources.get(own, own) / self._program.relative_to(own)
                return self.finish(Start(spec, program, sources, cancelled.is_set))

        return _in_thread(work, cancelled)


def outcome(finished: Finished) -> dict[str, Any]:
    """The fields of a result that tell how the command went."""
    ended = finished.ended
    return {
        "exit_code": finished.exit_code,
        "timed_out": ended.timed_out,
        "oom": ended.oom,
        "limit": ended.limit,
        "stdout": ended.stdout.decode("utf-8", "replace"),
        "stderr": ended.stderr.decode("utf-8", "replace"),
        "truncated": ended.truncated,
        "refused": list(finished.refused),
    }


def _in_thread(work: Callable[[], Finished], cancelled: threading.Event) -> Finished:
    ended: Future[Finished] = Future()

    def run() -> None:
        try:
            ended.set_result(work())
        except BaseException as error:  # it is raised where the run is waited for
            ended.set_exception(error)

    thread = threading.Thread(target=run, name="tipstaff-sandbox")
    thread.start()
    try:
        return ended.result()
    finally:
        cancelled.set()  # an interrupted wait must not wait for the run's own end
        thread.join()


@cache
def home(program: Path, libraries: str) -> Path:
    """The folder that a program needs to start: its own, or the one that also holds a wheel's libraries."""
    for folder in program.parents[1:3] if libraries else ():
        if any(folder.glob(libraries)):
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
