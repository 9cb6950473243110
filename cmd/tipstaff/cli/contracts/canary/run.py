"""`tipstaff contracts canary run`: the recorded calls of one server, made again."""

from __future__ import annotations

import click

from tipstaff.cli.output import json_option, print_json, say


@click.command()
@click.argument("name", metavar="NAME")
@json_option
def run(name: str, as_json: bool) -> int:
    """Make the recorded calls of a server again.

    It is checked as `tipstaff contracts check --fail-on warning` does, so a changed or unstable answer fails.

    Exits 0 when each canary answers as it did, 1 when one does not, 2 for a snapshot that cannot be read, 3 when one
    was not run.
    """
    from tipstaff.cli.contracts.check import live, show_checked, worst
    from tipstaff.engine import Engine
    from tipstaff.healing.contracts import Wanted
    from tipstaff.healing.pins.checking import check

    with Engine.open(say=say) as engine:
        found = check(engine, [name], Wanted("warning"), live(engine))
    if as_json:
        print_json({"servers": [found[0].server.model_dump(mode="json")]})
    else:
        show_checked(found[0])
    return worst(found)
