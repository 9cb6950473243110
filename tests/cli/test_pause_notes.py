"""Whoever asks what may go through, or ends a pause, is told of a pause that holds."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from support.command_line import Result


def test_pause_that_holds_is_named_below_the_tiers(
    project: Path, run_cli: Callable[..., Result]
) -> None:
    assert "pause." not in run_cli("tiers", cwd=project).stderr
    run_cli("pause", "--reason", "release day", cwd=project)
    assert "[pause.global]" in run_cli("tiers", cwd=project).stderr


def test_resume_names_a_pause_that_the_environment_keeps_up(
    project: Path, run_cli: Callable[..., Result], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TIPSTAFF_AUTO_EXECUTE_DISABLED", "1")
    run_cli("pause", "--reason", "release day", cwd=project)
    resumed = run_cli("resume", cwd=project)
    assert resumed.code == 0
    assert "note: " in resumed.stderr and "TIPSTAFF_AUTO_EXECUTE_DISABLED" in resumed.stderr


def test_resume_without_a_pause_says_that_there_was_none(
    project: Path, run_cli: Callable[..., Result]
) -> None:
    assert "no such pause" in run_cli("resume", cwd=project).stderr
    run_cli("pause", "--reason", "release day", cwd=project)
    assert "no such pause" not in run_cli("resume", cwd=project).stderr
