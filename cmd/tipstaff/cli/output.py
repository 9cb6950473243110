"""What commands print: one JSON document, or lines and tables for people."""

from __future__ import annotations

import json
import shutil
import sys
import textwrap
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

import click

from tipstaff.documents.redaction import redact_text
from tipstaff.documents.text import visible
from tipstaff.documents.verdict import Reason, Verdict

F = TypeVar("F", bound=Callable[..., Any])
_COLOURS = {"allow": "green", "require_approval": "yellow", "escalate": "magenta", "deny": "red"}
_GAP = 2
_NARROWEST = 18


def json_option(function: F) -> F:
    """The ``--json`` flag that every verb has."""
    return click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")(
        function
    )


def counted(number: int, word: str) -> str:
    """A number with its word, as ``1 finding`` and ``2 findings``."""
    return f"{number} {word}" if number == 1 else f"{number} {word}s"


def print_json(value: Any) -> None:
    """Write one JSON document to stdout; control characters and the like are escaped in it."""
    click.echo(json.dumps(value, indent=2, ensure_ascii=True))


def say(line: str) -> None:
    """Talk to a person, on stderr."""
    click.echo(visible(redact_text(line)), err=True)


def exit_code(verdict: Verdict) -> int:
    """0 for allow, 3 where no decision could be made, 1 for every other answer."""
    if verdict.is_allowed:
        return 0
    return 1 if verdict.is_answered else 3


def print_verdict(verdict: Verdict) -> None:
    """The effect, each reason with its remedy, and the id to ask ``explain`` about."""
    effect = click.style(verdict.effect, fg=_COLOURS[verdict.effect], bold=True)
    click.echo(f"{effect}  {verdict.kind}  decision {verdict.decision_id}")
    print_reasons(verdict.reasons)
    for advice in verdict.advice:
        say(f"note: {advice.message} [{advice.code}]; {advice.solution}")


def print_reasons(reasons: Iterable[Reason]) -> None:
    """Each reason: its code, what it means, and what would change it."""
    for reason in reasons:
        click.echo(f"  {visible(reason.code)}: {visible(reason.message)}")
        click.echo(f"      {visible(reason.solution)}")


def print_table(headings: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """A table; on a pipe its cells are neither cut nor wrapped.

    On a terminal only the last column is folded. Where even that has no room, each row becomes a block of its own, so
    that an id is never broken and can be copied.
    """
    table = [list(headings), *([_cell(cell) for cell in row] for row in rows)]
    widths = [max(_width(row[column]) for row in table) for column in range(len(headings))]
    room = shutil.get_terminal_size().columns if sys.stdout.isatty() else sum(widths) * 2 + 1000
    indent = sum(widths[:-1]) + _GAP * (len(widths) - 1)
    if indent + min(widths[-1], _NARROWEST) > room:
        _print_blocks(table)
        return
    for number, row in enumerate(table):
        lines = textwrap.wrap(row[-1], room - indent, break_on_hyphens=False) or [""]
        start = "".join(
            _padded(cell, width + _GAP) for cell, width in zip(row[:-1], widths[:-1], strict=True)
        )
        click.secho(f"{start}{lines[0]}".rstrip(), bold=number == 0 or None)
        for line in lines[1:]:
            click.echo(" " * indent + line)


def _print_blocks(table: Sequence[Sequence[str]]) -> None:
    headings, *rows = table
    width = max(map(_width, headings)) + _GAP
    for number, row in enumerate(rows):
        if number:
            click.echo()
        for heading, cell in zip(headings, row, strict=True):
            if cell:
                click.echo(f"{click.style(_padded(heading, width), bold=True)}{cell}")


def _cell(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "" if value is None else visible(str(value))


def _padded(text: str, width: int) -> str:
    return text + " " * (width - _width(text))


def _width(text: str) -> int:
    from rich.cells import cell_len

    return cell_len(text)
