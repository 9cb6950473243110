"""`tipstaff mcp serve`: the tools, on standard input and output."""

from __future__ import annotations

from typing import cast, get_args

import click

from tipstaff.cli.output import json_option, say
from tipstaff.surfaces.principal import Scope, of_this_process


@click.command()
@click.option(
    "--transport",
    type=click.Choice(["stdio"]),
    default="stdio",
    show_default=True,
    help="How the host speaks to it.",
)
@click.option(
    "--scope",
    type=click.Choice(get_args(Scope)),
    default="propose",
    show_default=True,
    help="What the host may: read looks and plans, propose also runs and proposes.",
)
@json_option
def serve(transport: str, scope: str, as_json: bool) -> int:
    """Serve the tools until the host leaves.

    On stdio, standard output is the protocol's, and an error before it begins is one JSON document with --json. The
    caller is an agent, whoever starts this, and approves nothing. Every call leaves a record on the trail.

    Exits 0 when the host has left, and 2 where the project cannot be read.
    """
    from tipstaff.project import Project
    from tipstaff.surfaces.stdio import serve_stdio

    project = Project.find()
    principal = of_this_process(cast(Scope, scope))
    serve_stdio(project, lambda: principal, say)
    return 0
