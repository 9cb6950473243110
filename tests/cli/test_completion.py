"""Completion of the command line, asked of a real bash."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from support.command_line import Result
from tipstaff.cli.policy import VERBS
from tipstaff.cli.program import COMMANDS

_ASK = """
source <(tipstaff completion bash)
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
compopt() { printf 'compopt %s %s\\n' "$@"; }
_tipstaff_completion tipstaff
printf '%s\\n' "${COMPREPLY[@]}"
"""


@pytest.fixture
def complete(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[str]]:
    """What bash would offer for these words, the last one of them unfinished."""
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")

    def ask(*words: str) -> list[str]:
        done = subprocess.run(
            ["bash", "--norc", "-c", _ASK, "bash", "tipstaff", *words],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=True,
        )
        assert done.stderr == ""
        return done.stdout.split("\n")[:-1]

    return ask


def test_every_verb_is_offered(complete: Callable[..., list[str]]) -> None:
    assert complete("") == sorted(COMMANDS)


def test_every_verb_of_policy_is_offered(complete: Callable[..., list[str]]) -> None:
    assert complete("policy", "") == sorted(VERBS)


def test_options_of_a_verb_of_policy_are_offered(complete: Callable[..., list[str]]) -> None:
    assert {"--json", "--help"} <= set(complete("policy", "test", "--"))


def test_words_of_a_choice_are_offered(complete: Callable[..., list[str]]) -> None:
    assert complete("approvals", "list", "--status", "re") == ["rejected"]


def test_action_classes_are_offered(complete: Callable[..., list[str]]) -> None:
    offered = complete("change", "propose", "--class", "heal_")
    assert offered == ["heal_additive", "heal_breaking", "heal_warning"]


@pytest.mark.parametrize("words", [("decide", ""), ("change", "propose", "--diff", "")])
def test_file_names_are_left_to_the_shell(
    complete: Callable[..., list[str]], words: tuple[str, ...]
) -> None:
    assert complete(*words)[0] == "compopt -o default"


def test_installed_script_is_the_printed_one(
    person: Path, run_cli: Callable[..., Result], tmp_path: Path
) -> None:
    printed = run_cli("completion", "bash", cwd=tmp_path).stdout
    assert run_cli("completion", "bash", "--install", cwd=tmp_path).code == 0
    installed = person / ".local/share/bash-completion/completions/tipstaff"
    assert installed.read_text().strip() == printed.strip()
