"""What commands print: one JSON document, or lines and tables for people."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

import click

from tipstaff.documents.codes import CODES
from tipstaff.documents.text import visible
from tipstaff.documents.verdict import Reason, Verdict

F = TypeVar("F", bound=Callable[..., Any])
_COLOURS = {"allow": "green", "require_approval": "yellow", "escalate": "magenta", "deny": "red"}


def json_option(function: F) -> F:
    """The ``--json`` flag that every verb has."""
    return click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")(
        function
    )


def print_json(value: Any) -> None:
    """Write one JSON document to stdout; control characters and the like are escaped in it."""
    click.echo(json.dumps(value, indent=2, ensure_ascii=True))


def say(line: str) -> None:
    """Talk to a person, on stderr."""
    click.echo(visible(line), err=True)


def exit_code(verdict: Verdict) -> int:
    """0 for allow, 3 where no decision could be made, 1 for every other answer."""
    if verdict.is_allowed:
        return 0
    return 3 if any(code in CODES for code in verdict.codes) else 1


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
    """A table; on a pipe its cells are neither cut nor wrapped."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False)
    for heading in headings:
        table.add_column(heading, overflow="fold")
    for row in rows:
        table.add_row(*(Text(visible("" if cell is None else str(cell))) for cell in row))
    console = Console(width=None if sys.stdout.isatty() else 10_000, highlight=False)
    console.print(table)
