"""`tipstaff completion`: shell completion, printed or installed."""

from __future__ import annotations

from pathlib import Path

import click
from click.shell_completion import CompletionItem, get_completion_class

from tipstaff.cli.output import json_option, print_json
from tipstaff.cli.writing import write_text
from tipstaff.errors import ContractError

_SHELLS = ("bash", "zsh", "fish")


@click.command()
@click.argument("shell", type=click.Choice(_SHELLS))
@click.option("--install", is_flag=True, help="Write it where the shell looks for completions.")
@json_option
def completion(shell: str, install: bool, as_json: bool) -> int:
    """Print or install shell completion.

    Without --install the script for the shell is printed.
    """
    from tipstaff.cli.program import program

    found = get_completion_class(shell)
    if found is None:
        raise ContractError(
            "shell.unknown", f"no completion for {shell}", fix="use bash, zsh or fish"
        )
    script = found(program, {}, "tipstaff", "_TIPSTAFF_COMPLETE").source()
    place = _place(shell) if install else None
    if place is not None:
        write_text(place, script)
    if as_json:
        print_json({"shell": shell, "file": str(place) if place else None, "script": script})
    elif place is None:
        click.echo(script)
    else:
        click.echo(f"wrote {place}; start a new {shell} to use it")
        if shell == "zsh":
            click.echo(f"add to .zshrc before compinit: fpath=({place.parent} $fpath)", err=True)
    return 0


def files(_context: click.Context, _parameter: click.Parameter, typed: str) -> list[CompletionItem]:
    """What completes a value that names a file, or ``-``: the shell's own file names."""
    return [CompletionItem(typed, type="file")]


def action_classes(_context: click.Context, _parameter: click.Parameter, typed: str) -> list[str]:
    """What completes a value that names an action class."""
    from typing import get_args

    from tipstaff.documents.base import ActionClass

    return [name for name in get_args(ActionClass) if name.startswith(typed)]


def _place(shell: str) -> Path:
    home = Path.home()
    return {
        "bash": home / ".local/share/bash-completion/completions/tipstaff",
        "zsh": home / ".local/share/zsh/site-functions/_tipstaff",
        "fish": home / ".config/fish/completions/tipstaff.fish",
    }[shell]
