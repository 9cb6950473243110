"""A backend that isolates nothing and limits nothing, for tests that have to see a leak found."""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from contextlib import suppress
from pathlib import Path

from tipstaff.documents.sandbox import SandboxResult
from tipstaff.project import timestamp
from tipstaff.sandbox.backend import SCRATCH, Probe, RunSpec

_PATIENCE_S = 120


class LeakyBackend:
    """Runs a command as a plain child, with everything that this process has."""

    name = "leaky"

    def probe(self) -> Probe:
        """It says that it works."""
        return Probe(self.name, available=True, kernel="host")

    def argv(self, spec: RunSpec) -> list[str]:
        """The command as it is."""
        return list(spec.argv)

    def run(self, spec: RunSpec) -> tuple[SandboxResult, dict[str, bytes]]:
        """Run it where it can reach all; outputs are copied as a careless tool would."""
        with tempfile.TemporaryDirectory() as scratch:
            inside = re.compile(rf"(?<![\w./-]){re.escape(spec.work)}(?![\w.-])")
            line = [inside.sub(str(spec.workdir), word) for word in spec.argv]
            done = subprocess.run(
                line,
                env={**os.environ, "HOME": scratch},
                capture_output=True,
                close_fds=False,
                timeout=_PATIENCE_S,
                check=False,
            )
            outputs = {}
            for name in spec.outputs:
                file = Path(scratch, os.path.relpath(name, SCRATCH))
                with suppress(OSError):
                    if not file.is_fifo():
                        outputs[name] = file.read_bytes()
        result = SandboxResult(
            backend=self.name,
            backend_version=None,
            kernel="host",
            profile=spec.profile.name,
            isolated=True,
            held=[],
            exit_code=max(0, done.returncode),
            timed_out=False,
            oom=None,
            stdout=done.stdout.decode("utf-8", "replace"),
            stderr=done.stderr.decode("utf-8", "replace"),
            truncated=False,
            limits=spec.profile.limits,
            started_at=timestamp(),
            duration_ms=0,
            spec_sha256=spec.spec_sha256,
            input_sha256="0" * 64,
            refused=[],
            warm=False,
        )
        return result, outputs
