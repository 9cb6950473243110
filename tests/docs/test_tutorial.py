"""The tutorial is followed, command by command."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from support.command_line import Result
from support.readme import TUTORIAL, commands, files
from support.repositories import write

CHAPTERS = ("start", "new", "check", "diff", "sign", "blocked", "explain", "loosen", "rollback")


def test_tutorial_does_what_it_says(
    repository: Path, shell: Callable[..., str], run_cli: Callable[..., Result], tmp_path: Path
) -> None:
    said: dict[str, str] = {}
    decision = ""
    for chapter in CHAPTERS:
        for command, code in commands(chapter, TUTORIAL):
            line = command.replace("/tmp/fix.patch", str(tmp_path / "fix.patch"))
            said[command] = shell(line.replace("DECISION", decision), repository, code)
        if chapter == "new":
            write(repository, files(TUTORIAL))
        if chapter == "blocked":
            records = run_cli("audit", "list", "--json", cwd=repository).json["records"]
            decision = records[-1]["decision_id"]
    [proposed] = [text for command, text in said.items() if "change propose" in command]
    assert proposed.splitlines()[1].startswith("deny  change")
    [asked_again] = [text for command, text in said.items() if "--what-if" in command]
    assert "deny -> require_approval" in asked_again
    [compared] = [text for command, text in said.items() if "--from-audit" in command]
    assert "1 case: 1 loosened, 0 tightened, 0 changed, 0 unchanged" in compared
