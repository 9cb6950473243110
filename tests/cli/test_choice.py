"""Asking a person once what may be applied by itself; at a real terminal, which a pair of pseudo-terminals plays."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

from support.command_line import Result
from support.repositories import SKILL, diff_of

PROGRAM = Path(sys.executable).parent / "tipstaff"
ADDITION = {"skills/word-count/SKILL.md": SKILL + "\nIt counts lines of prose, too.\n"}


@dataclass(frozen=True)
class Session:
    """What a person at the terminal was shown, and how the command ended."""

    shown: str
    code: int


def at_terminal(root: Path, action_class: str, typed: str) -> Session:
    """Propose ``add.patch`` with a terminal as standard input and error, typing ``typed``."""
    ours, theirs = pty.openpty()
    shown = bytearray()
    propose = ["change", "propose", "--class", action_class, "--diff", "../add.patch"]
    process = subprocess.Popen(
        [PROGRAM, *propose], cwd=root, stdin=theirs, stdout=subprocess.DEVNULL, stderr=theirs
    )
    os.close(theirs)

    def watch() -> None:
        while True:
            try:
                part = os.read(ours, 4096)
            except OSError:  # Linux says so when the last writer has gone
                return
            shown.extend(part)

    watcher = threading.Thread(target=watch)
    watcher.start()
    os.write(ours, f"{typed}\n".encode())
    code = process.wait(timeout=60)
    watcher.join(timeout=10)
    os.close(ours)
    return Session(shown.decode(), code)


@pytest.fixture
def proposed(project: Path) -> Path:
    """A project, and beside it a patch that only adds."""
    (project.parent / "add.patch").write_bytes(diff_of(project, ADDITION))
    return project


def local(root: Path) -> dict[str, object] | None:
    """What the person's own file says; None where there is none."""
    file = root / "tipstaff.local.yaml"
    return yaml.safe_load(file.read_text(encoding="utf-8")) if file.exists() else None


@pytest.mark.req("T-12")
def test_answer_beyond_the_ceiling_is_remembered_as_the_ceiling(proposed: Path) -> None:
    session = at_terminal(proposed, "augment", "auto-fix")
    assert "augment: apply by itself" in session.shown
    assert "ceiling for augment is propose" in session.shown
    assert local(proposed) == {"schema_version": 1, "remembered_choices": {"augment": "propose"}}
    assert session.code == 1


@pytest.mark.req("T-12")
def test_answer_within_the_ceiling_is_remembered_as_given(proposed: Path) -> None:
    team = proposed / "tipstaff.yaml"
    raised = team.read_text(encoding="utf-8").replace(
        "heal_additive: propose", "heal_additive: auto-if-tests-pass"
    )
    team.write_text(raised, encoding="utf-8")
    at_terminal(proposed, "heal_additive", "auto-fix")
    assert local(proposed) == {
        "schema_version": 1,
        "remembered_choices": {"heal_additive": "auto-if-tests-pass"},
    }


@pytest.mark.req("T-12")
def test_a_class_is_asked_about_once(proposed: Path) -> None:
    assert "apply by itself" in at_terminal(proposed, "heal_additive", "propose").shown
    assert "apply by itself" not in at_terminal(proposed, "heal_additive", "").shown
    assert "heal_warning: apply by itself" in at_terminal(proposed, "heal_warning", "").shown


@pytest.mark.req("T-12")
def test_without_a_terminal_nothing_is_asked_or_written(
    proposed: Path, run_cli: Callable[..., Result]
) -> None:
    propose = ("change", "propose", "--class", "heal_additive", "--diff", "../add.patch")
    done = run_cli(*propose, cwd=proposed)
    assert done.code == 1
    assert "apply by itself" not in done.stdout + done.stderr
    assert local(proposed) is None
    tiers = {row["class"]: row for row in run_cli("tiers", "--json", cwd=proposed).json["tiers"]}
    assert tiers["heal_additive"]["effective"] == "propose"
