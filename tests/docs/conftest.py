"""What the tests of documents share."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tipstaff.pdp.opa import Opa


@pytest.fixture
def shell(opa_program: Opa, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[..., str]:
    """Runs one line of a document's block as a shell would, and holds its exit code against the announced one."""
    programs = tmp_path / "programs"
    programs.mkdir()
    (programs / "opa").symlink_to(opa_program.path)
    (programs / "tipstaff").symlink_to(Path(sys.executable).parent / "tipstaff")
    monkeypatch.setenv("PATH", f"{programs}{os.pathsep}{os.environ['PATH']}")

    def run(line: str, cwd: Path, code: int = 0) -> str:
        done = subprocess.run(
            ["bash", "-c", line], cwd=cwd, capture_output=True, text=True, check=False
        )
        assert done.returncode == code, f"{line}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    return run
