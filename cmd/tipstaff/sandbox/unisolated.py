"""No isolation at all: for trusted fixtures under a profile that asks for none. Its results say so.

Limits of time, output and the kernel's own are set; nothing is hidden, and the network is open.
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import tempfile
import time
from pathlib import Path

from tipstaff.documents.sandbox import SandboxResult
from tipstaff.errors import SandboxError
from tipstaff.project import timestamp
from tipstaff.sandbox.backend import SCRATCH, Probe, RunSpec
from tipstaff.sandbox.collection import take
from tipstaff.sandbox.layout import environment
from tipstaff.sandbox.process import TIMEOUT_EXIT_CODE, Supervised, restrict, supervise
from tipstaff.sandbox.run import Finished, outcome

NAME = "none"


class UnisolatedBackend:
    """Runs a command as it is, in a private folder, with the environment of the profile."""

    name = NAME

    def probe(self) -> Probe:
        """Nothing is held, so nothing is tried."""
        return Probe(self.name, available=True, reason="it isolates nothing")

    def argv(self, spec: RunSpec) -> list[str]:
        """See ``SandboxBackend.argv``."""
        return list(spec.argv)

    def run(self, spec: RunSpec) -> tuple[SandboxResult, dict[str, bytes]]:
        """See ``SandboxBackend.run``; raises ``SandboxError`` under an isolated profile."""
        if spec.profile.isolated:
            raise SandboxError(
                "sandbox.unavailable",
                f"the profile {spec.profile.name} never runs without isolation",
                fix="run `tipstaff doctor` to see what is missing",
            )
        input_sha256 = spec.input_sha256
        started_at = timestamp()
        begun = time.monotonic()
        with tempfile.TemporaryDirectory(prefix="tipstaff-scratch-") as name:
            supervised = _spawn(spec, name)
            ended = supervise(supervised, spec.profile.limits)
            folder = os.open(name, os.O_PATH | os.O_DIRECTORY)
            try:
                taken = take(folder, spec.outputs, root=SCRATCH)
            finally:
                os.close(folder)
        code = supervised.process.returncode
        exit_code = TIMEOUT_EXIT_CODE if ended.timed_out else code if code >= 0 else 128 - code
        result = SandboxResult(
            backend=self.name,
            backend_version=None,
            kernel="host",
            profile=spec.profile.name,
            isolated=False,
            warm=False,
            held=[],
            **outcome(Finished(exit_code, ended, taken.files, taken.refused)),
            limits=spec.profile.limits,
            started_at=started_at,
            duration_ms=round((time.monotonic() - begun) * 1000),
            spec_sha256=spec.spec_sha256,
            input_sha256=input_sha256,
        )
        return result, taken.files


def _spawn(spec: RunSpec, scratch: str) -> Supervised:
    folders = {spec.work: str(spec.workdir), SCRATCH: scratch}
    inside = re.compile(rf"(?<![\w./-])({'|'.join(map(re.escape, folders))})(?![\w.-])")

    def here(text: str) -> str:
        return inside.sub(lambda found: folders[found[1]], text)

    variables = {name: here(value) for name, value in environment(spec).items()}
    try:
        process = subprocess.Popen(
            [here(word) for word in spec.argv],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=variables,
            cwd=Path(spec.workdir),
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        raise SandboxError(
            "sandbox.setup",
            f"{spec.argv[0]} cannot be started: {error}",
            fix="name a program that exists and may be executed",
        ) from error

    def kill() -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)

    with contextlib.suppress(ProcessLookupError):
        restrict(process.pid, spec.profile.limits)
    return Supervised(process, process.pid, kill)
