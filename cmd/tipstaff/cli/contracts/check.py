"""`tipstaff contracts check`: live servers, held against their committed snapshots."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from tipstaff.cli.contracts.shown import (
    about,
    diff_options,
    reason_findings,
    say_what_to_do,
    show_lines,
    to_findings,
)
from tipstaff.cli.findings import demand_one_form
from tipstaff.cli.output import counted, print_json, print_reasons, say
from tipstaff.documents.text import visible

if TYPE_CHECKING:
    from tipstaff.engine import Engine
    from tipstaff.healing.pins.checking import Checked, Observe

_NOT_OBSERVED, _UNREADABLE, _FAILS = 3, 2, 1


@click.command()
@click.argument("names", metavar="[NAME]...", nargs=-1)
@diff_options
def check(
    names: tuple[str, ...],
    fail_on: str,
    fail_on_authority: str | None,
    as_sarif: bool,
    as_json: bool,
) -> int:
    """Hold live servers against their committed snapshots.

    All servers of tipstaff.yaml are looked at, or those that are named, side by side; recorded calls are made again.
    No snapshot is written, whatever is found, and each server leaves one record. What is new is kept aside, for a
    person to accept by its digest.

    Exits with the highest that applies to a server: 0 without a finding to fail on, 1 with one or without a snapshot, 2
    for a snapshot that cannot be read, 3 for a server that was not observed whole. What is not known outranks what is
    known to be wrong, for a 1 says that everything was looked at.
    """
    from tipstaff.engine import Engine
    from tipstaff.healing.contracts import Wanted
    from tipstaff.healing.pins.checking import check as check_servers

    demand_one_form(as_json, as_sarif)
    with Engine.open(say=say) as engine:
        found = check_servers(engine, names, Wanted(fail_on, fail_on_authority), live(engine))
    if as_json:
        print_json({"servers": [one.server.model_dump(mode="json") for one in found]})
    elif as_sarif:
        _print_sarif(found)
    else:
        for one in found:
            show_checked(one)
    return worst(found)


def live(engine: Engine) -> Observe:
    """Observing as the project's files say."""
    from tipstaff.cli.contracts.observing import observe

    return lambda target, calls: observe(engine.project, target, calls)


def worst(found: Sequence[Checked]) -> int:
    """The exit code: the highest over all servers."""
    return max(map(_code, found))


def _code(one: Checked) -> int:
    if not one.settled:
        return _NOT_OBSERVED
    if one.error is not None:
        return _UNREADABLE
    return _FAILS if one.fails else 0


def show_checked(one: Checked) -> None:
    """One server: its word, what changed, its canaries, and what a person can do."""
    from tipstaff.cli.contracts.observing import show_report

    server = one.server
    click.echo(f"{click.style(visible(server.name), bold=True)}: {server.status}")
    if one.error is not None:
        click.echo(f"  {visible(str(one.error))} [{one.error.code}]")
        click.echo(f"      {visible(one.error.fix)}")
    if server.diff is not None and server.diff.findings:
        show_lines(server.diff)
    for canary in server.canaries:
        click.echo(f"  canary {visible(canary.id)}: {canary.status}")
    if server.report is not None:
        show_report(server.report)
    if not one.verdict.is_allowed:
        print_reasons(one.verdict.reasons)
    if server.new_digest is not None and server.new_digest != server.old_digest:
        say_what_to_do(server.name, server.new_digest)


def _print_sarif(found: Sequence[Checked]) -> None:
    from tipstaff.cli.sarif import sarif

    results = []
    for one in found:
        if one.server.diff is not None:
            results += to_findings(one.server.diff.findings, one.path)
        if one.server.diff is None or one.server.old_digest is None or not one.settled:
            results += reason_findings(one.verdict.reasons, one.path)
    changes = [change for one in found if one.server.diff for change in one.server.diff.findings]
    print_json(sarif(results, [], about=about(changes)))
    say(f"{counted(len(found), 'server')} checked")
