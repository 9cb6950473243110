"""`tipstaff contracts diff`: two snapshots of one server, held against each other."""

from __future__ import annotations

from pathlib import Path

import click

from tipstaff.cli.completion import files
from tipstaff.cli.contracts.shown import diff_options, show
from tipstaff.cli.findings import demand_one_form
from tipstaff.cli.output import say
from tipstaff.documents.contract import read_snapshot


@click.command()
@click.argument("old", metavar="OLD", shell_complete=files)
@click.argument("new", metavar="NEW", shell_complete=files)
@diff_options
def diff(
    old: str, new: str, fail_on: str, fail_on_authority: str | None, as_sarif: bool, as_json: bool
) -> int:
    """Grade what changed between two snapshots.

    OLD and NEW are *.mcpc.json files. Each difference is a finding: what it is, how severe, whether it widens or
    narrows authority, and where it stands in the tool. Policy grades them.

    Exits 0 without a finding to fail on, 1 with one, 2 for a file that is no snapshot, 3 where policy gives no grades.
    """
    from tipstaff.engine import Engine
    from tipstaff.healing.contracts import Wanted, compare

    demand_one_form(as_json, as_sarif)
    before, after = read_snapshot(Path(old)), read_snapshot(Path(new))
    with Engine.open(say=say) as engine:
        found = compare(engine, before, after, Wanted(fail_on, fail_on_authority))
    show(found.diff, new, as_json=as_json, as_sarif=as_sarif)
    return 1 if found.fails else 0
