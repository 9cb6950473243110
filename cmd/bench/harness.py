"""The speed of a governed modification: the demo's plan and run as whole processes, with a warm sidecar."""

from __future__ import annotations

import io
import sys
import tempfile
from collections.abc import Iterator
from contextlib import redirect_stdout
from pathlib import Path

from programs import PROGRAM, process
from ratios import Promise

from tipstaff.cli import main

_SPEC = ["--spec", "governed.json"]
_LIMITS = {"run": 3, "plan": 2}


def measure() -> Iterator[Promise]:
    """The promises about ``run`` and ``plan``; the demo has no prover."""
    libraries = [sys.executable, "-c", "import click, pydantic"]
    with tempfile.TemporaryDirectory() as folder:
        out = str(Path(folder, "governed.json"))
        with redirect_stdout(io.StringIO()):
            if main(["governed-harness", "init", "--out", out, "--demo"]) != 0:
                raise RuntimeError("the demo could not be written")
        for verb, limit in _LIMITS.items():
            ours = [PROGRAM, "governed-harness", verb, *_SPEC]
            name = f"governed-harness {verb} / python -c 'import click, pydantic'"
            yield process(name, ours, libraries, limit, Path(folder))
