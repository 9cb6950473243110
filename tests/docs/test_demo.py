"""`make demo` shows what it promises, and cannot pass by accident."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from support.readme import ROOT

DEMO = ROOT / "cmd" / "demo"


def test_demo_ends_with_all_checks_holding() -> None:
    done = subprocess.run(
        [sys.executable, DEMO],
        env={**os.environ, "CI": "true", "TIPSTAFF_NESTED": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "checks hold" in done.stdout.splitlines()[-1]
    assert "✗" not in done.stdout


def test_demo_fails_when_a_command_ends_otherwise(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.syspath_prepend(DEMO)
    from stage import Stage  # type: ignore[import-not-found, unused-ignore]

    stage = Stage(tmp_path, os.environ)
    stage.act("A part", "explained", "expected")
    stage.tipstaff("--version", code=1)
    assert stage.close() == 1
    assert "NOT SO" in capsys.readouterr().out


def test_demo_fails_when_nothing_was_checked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(DEMO)
    from stage import Stage  # type: ignore[import-not-found, unused-ignore]

    stage = Stage(tmp_path, os.environ)
    stage.act("A part", "explained", "expected")
    assert stage.close() == 1
