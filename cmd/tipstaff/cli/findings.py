"""What a check prints: findings and waived ones, for people, as JSON, or as SARIF; and the options that choose."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import TYPE_CHECKING, Any, TypeVar

import click

from tipstaff.cli.output import counted, json_option, print_json, say
from tipstaff.documents.text import visible
from tipstaff.errors import Error

if TYPE_CHECKING:
    from tipstaff.authoring.facts import Folder
    from tipstaff.authoring.judging import Report
    from tipstaff.documents.finding import Finding
    from tipstaff.pdp.opa import Opa

F = TypeVar("F", bound=Callable[..., Any])


class Moment(click.ParamType[datetime]):
    """A point in time with its offset, as RFC 3339 writes it."""

    name = "time"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> datetime:
        """The moment, or a usage error."""
        try:
            moment = datetime.fromisoformat(value)
        except ValueError:
            moment = None
        if moment is None or moment.tzinfo is None:
            self.fail(f"{value!r} is no time such as 2027-01-01T00:00:00Z", param, ctx)
        return moment


def check_options(function: F) -> F:
    """The options of every check: ``--json``, ``--sarif`` and ``--now``."""
    function = json_option(function)
    function = click.option("--sarif", "as_sarif", is_flag=True, help="Print a SARIF 2.1.0 log.")(
        function
    )
    return click.option(
        "--now",
        type=Moment(),
        metavar="TIME",
        help="Judge waivers as of this time, RFC 3339; else the clock's.",
    )(function)


def demand_one_form(as_json: bool, as_sarif: bool) -> None:
    """Raise a usage error where both forms are asked for."""
    if as_json and as_sarif:
        raise click.UsageError("choose one of --json and --sarif")


def show(report: Report, *, as_json: bool, as_sarif: bool, clean: str = "") -> int:
    """Print a report and return the exit code: 1 with findings; ``clean`` is said of a configuration without one."""
    if as_sarif:
        from tipstaff.cli.sarif import sarif

        print_json(sarif(report.findings, report.waived))
    elif as_json:
        print_json(report.as_json())
    else:
        _show_lines(report, clean)
    return 1 if report.findings else 0


def say_findings(opa: Opa, folder: Folder) -> None:
    """Say in a line that `policy check` has findings in a folder, if it has; what it cannot read it is asked about."""
    from tipstaff.authoring.judging import check_policy

    try:
        found = len(check_policy(opa, folder).findings)
    except Error as error:
        say(f"note: `tipstaff policy check` would stop at this: {error.message}")
        return
    if found:
        say(f"note: `tipstaff policy check` has {counted(found, 'finding')} here")


def _show_lines(report: Report, clean: str) -> None:
    for found in report.findings:
        click.echo(f"  {_line(found)}")
        click.echo(f"      {visible(found.solution)}")
    for found in report.waived:
        waiver = found.waiver
        if waiver:
            click.echo(f"  waived: {_line(found)}")
            said = f"by {waiver.owner} until {waiver.expires}: {waiver.reason}"
            click.echo(f"      {visible(said)}")
    said = f"{counted(len(report.findings), 'finding')}, {len(report.waived)} waived"
    if report.checked:
        files, rules = (counted(report.checked[f"{word}s"], word) for word in ("file", "rule"))
        click.echo(f"{files}, {rules} checked: {said}")
    elif report.waived or report.findings:
        click.echo(said)
    if clean and not report.findings:
        click.echo(clean)


def _line(found: Finding) -> str:
    place = "" if found.file is None else f"{found.file}:"
    place += "" if found.line is None else f"{found.line}:"
    return visible(f"{place}{' ' if place else ''}{found.code}: {found.message}")
