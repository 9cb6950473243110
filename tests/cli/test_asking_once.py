"""What a person answers at a terminal spoils nothing, and who is no person at one is not asked."""

from __future__ import annotations

import os
import pty
import select
import subprocess
import sys
import time
from pathlib import Path

import pytest
import yaml

from support.workshop import AUTOMATIC, Workshop

WIDE_S = 60.0
ASKED = "apply by itself what policy permits"


def at_a_terminal(root: Path, *arguments: str, answer: str = "") -> tuple[int, str]:
    """Run ``tipstaff`` at a pseudo-terminal and type the answer when asked; exit code and what was shown."""
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-c", "from tipstaff.cli import main; main()", *arguments],
        cwd=root,
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
    ) as process:
        os.close(theirs)
        shown, typed = "", False
        deadline = time.monotonic() + WIDE_S
        while time.monotonic() < deadline:
            ready, _, _ = select.select([ours], [], [], 0.1)
            try:
                data = os.read(ours, 65536) if ready else b""
            except OSError:
                break
            shown += data.decode(errors="replace")
            if ASKED in shown and not typed:
                typed = True
                os.write(ours, f"{answer}\n".encode())
            if not ready and process.poll() is not None:
                break
        code = process.wait(timeout=WIDE_S)
    os.close(ours)
    return code, shown


@pytest.fixture
def proposal(project: Path, tmp_path: Path) -> list[str]:
    """The arguments of a proposal of class heal_additive."""
    (tmp_path / "change.diff").write_bytes(Workshop(project).diff())
    call = ["change", "propose", "--class", "heal_additive", "--diff"]
    return [*call, str(tmp_path / "change.diff")]


def remembered(root: Path) -> object:
    """What the local file remembers."""
    file = root / "tipstaff.local.yaml"
    return yaml.safe_load(file.read_text())["remembered_choices"] if file.exists() else None


@pytest.mark.req("T-12", "T-13")
def test_answer_within_the_ceiling_is_remembered_as_given_beside_what_stands_there(
    project: Path, proposal: list[str]
) -> None:
    workshop = Workshop(project)
    workshop.configure(autonomy=AUTOMATIC)
    workshop.prefer(
        approval_gates={"forbid": ["db_write"]}, remembered_choices={"augment": "propose"}
    )
    at_a_terminal(project, *proposal, answer="auto-fix")
    assert remembered(project) == {"augment": "propose", "heal_additive": "auto-if-tests-pass"}
    local = yaml.safe_load((project / "tipstaff.local.yaml").read_text())
    assert local["approval_gates"] == {"forbid": ["db_write"]}


@pytest.mark.req("T-12")
def test_person_who_only_presses_return_proposes(project: Path, proposal: list[str]) -> None:
    Workshop(project).configure(autonomy=AUTOMATIC)
    code, _ = at_a_terminal(project, *proposal)
    assert code == 1
    assert remembered(project) == {"heal_additive": "propose"}


@pytest.mark.req("T-12")
def test_program_that_wants_json_is_not_asked(project: Path, proposal: list[str]) -> None:
    _, shown = at_a_terminal(project, *proposal, "--json")
    assert ASKED not in shown
    assert remembered(project) is None


@pytest.mark.req("T-12")
def test_reading_is_never_asked_about(project: Path, proposal: list[str]) -> None:
    audit = ["audit" if word == "heal_additive" else word for word in proposal]
    code, shown = at_a_terminal(project, *audit)
    assert (code, ASKED in shown) == (1, False)
    assert remembered(project) is None
