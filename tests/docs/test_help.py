"""What commands say of themselves: one text in the program, the README and the list of commands."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import click
import pytest

from support.command_line import Result
from support.readme import README
from tipstaff.cli.program import COMMANDS, program


def _paths(group: click.Group, above: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    yield above
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        path = (*above, name)
        if isinstance(command, click.Group):
            yield from _paths(command, path)
        else:
            yield path


PATHS = list(_paths(program))
_BLOCKS = dict(
    re.findall(
        r"^### `(tipstaff[^`]*)`\n\n```text\n(.*?)\n```$",
        README.read_text(encoding="utf-8"),
        re.DOTALL | re.MULTILINE,
    )
)


@pytest.mark.parametrize("path", PATHS, ids=" ".join)
def test_help_is_what_the_readme_shows(
    path: tuple[str, ...], run_cli: Callable[..., Result], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    shown = run_cli(*path, "--help")
    assert shown.code == 0
    assert shown.stderr == ""
    assert shown.stdout.rstrip("\n") == _BLOCKS[" ".join(("tipstaff", *path))]


def test_the_readme_shows_no_other_command() -> None:
    assert sorted(_BLOCKS) == sorted(" ".join(("tipstaff", *path)) for path in PATHS)


def test_every_verb_takes_json(run_cli: Callable[..., Result]) -> None:
    groups = {path[:-1] for path in PATHS if path}
    verbs = [path for path in PATHS if path not in groups]
    assert [path for path in verbs if "--json" not in run_cli(*path, "--help").stdout] == []


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_short_line_is_the_commands_own_first_line(name: str) -> None:
    command = program.get_command(click.Context(program), name)
    assert command is not None
    first = (command.help or "").strip().splitlines()[0]
    assert COMMANDS[name][1] == first


def test_wrong_verb_is_answered_with_the_right_one(run_cli: Callable[..., Result]) -> None:
    wrong = run_cli("aproval", "list")
    assert wrong.code == 2
    assert "approvals" in wrong.stderr
    assert "propose" in run_cli("change", "propse").stderr


def test_installed_program_answers_like_the_function() -> None:
    installed = Path(sys.executable).parent / "tipstaff"
    environment = {**os.environ, "COLUMNS": "80"}
    done = subprocess.run(
        [installed, "--help"], env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout.rstrip("\n") == _BLOCKS["tipstaff"]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_is_installed_for_the_user(
    shell: str, run_cli: Callable[..., Result], person: Path
) -> None:
    done = run_cli("completion", shell, "--install", "--json")
    assert done.code == 0
    place = Path(done.json["file"])
    assert place.is_relative_to(person)
    assert "tipstaff" in place.read_text(encoding="utf-8")


def test_completion_completes() -> None:
    installed = Path(sys.executable).parent / "tipstaff"
    asked = {"_TIPSTAFF_COMPLETE": "bash_complete", "COMP_WORDS": "tipstaff app", "COMP_CWORD": "1"}
    done = subprocess.run(
        [installed], env={**os.environ, **asked}, capture_output=True, text=True, check=False
    )
    assert "approvals" in done.stdout, done.stderr
