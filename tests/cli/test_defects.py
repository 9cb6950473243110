"""What nothing foresaw never looks like an answer of policy."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from support.command_line import run
from tipstaff.cli import tiers


def test_unforeseen_error_is_exit_3_and_one_json_document(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(engine: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(tiers, "ask_about_classes", fail)
    result = run("tiers", "--json", cwd=project)
    assert result.code == 3
    assert result.json["error"]["code"] == "internal"
    assert "ZeroDivisionError" in result.stderr


def test_reader_that_went_away_was_told_no_yes(project: Path) -> None:
    command = [sys.executable, "-c", "from tipstaff.cli import main; main()", "tiers", "--json"]
    with subprocess.Popen(command, cwd=project, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.close()
        assert process.wait(timeout=60) == 3
