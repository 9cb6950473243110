"""The folders are where they were promised, and ours shadow nothing of Python's."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tipstaff import declared

ROOT = declared.folder("policy").parent
TOP = {"pyproject.toml", "policy", "cmd", "sandbox", "contracts", "tests", "README.md"}


@pytest.mark.req("E-14")
def test_top_level_is_as_promised() -> None:
    assert {path.name for path in ROOT.iterdir()} >= TOP
    assert not (ROOT / "cmd/__init__.py").exists()


@pytest.mark.req("E-14")
@pytest.mark.parametrize("folder", [".", "cmd", "cmd/tipstaff"])
def test_debugger_starts_from_our_folders(folder: str) -> None:
    ended = subprocess.run(
        [sys.executable, "-m", "pdb", "-h"], cwd=ROOT / folder, capture_output=True, check=False
    )
    # Which exit code its help has differs between versions of Python.
    assert ended.stdout.startswith(b"usage: pdb"), ended.stderr


@pytest.mark.req("E-14")
def test_package_that_would_shadow_cmd_is_noticed(tmp_path: Path) -> None:
    (tmp_path / "cmd").mkdir()
    (tmp_path / "cmd/__init__.py").touch()
    ended = subprocess.run(
        [sys.executable, "-m", "pdb", "-h"], cwd=tmp_path, capture_output=True, check=False
    )
    assert not ended.stdout.startswith(b"usage: pdb")
