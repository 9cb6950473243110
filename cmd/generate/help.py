"""The command reference of README.md, from the help of the commands themselves.

It stands between two markers; what is outside them is written by people and left alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click

from tipstaff.cli.program import program

BEGIN = "<!-- commands: written by `make generate` -->"
END = "<!-- /commands -->"
README = "README.md"
# What click leaves of a terminal of 80 columns, which is also what a pipe counts as.
_WIDTH = 78
_ROOT = Path(__file__).parents[2]


def render() -> Iterator[tuple[str, str]]:
    """README.md's path from the repository's root, and its text with the current reference in it."""
    text = (_ROOT / README).read_text(encoding="utf-8")
    before, found, rest = text.partition(BEGIN)
    _, ended, after = rest.partition(END)
    if not (found and ended):
        raise ValueError(f"{README} lacks the markers {BEGIN} and {END}")
    yield README, f"{before}{BEGIN}\n\n{reference()}\n{END}{after}"


def reference() -> str:
    """A heading and the help of each command, groups before what is in them."""
    return "\n".join(
        f"### `{path}`\n\n```text\n{text}\n```\n" for path, text in blocks(program, "tipstaff")
    )


def blocks(
    command: click.Command, name: str, parent: click.Context | None = None
) -> Iterator[tuple[str, str]]:
    """The full name of a command and of each one below it, with what ``--help`` prints at 80 columns."""
    context = click.Context(
        command,
        info_name=name,
        parent=parent,
        terminal_width=_WIDTH,
        **(command.context_settings if parent is None else {}),
    )
    yield context.command_path, command.get_help(context)
    if isinstance(command, click.Group):
        for child in command.list_commands(context):
            found = command.get_command(context, child)
            assert found is not None  # noqa: S101 (the group has just listed it)
            yield from blocks(found, child, context)
