"""`tipstaff mcp serve`: the tools, on standard input and output or over HTTP."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, cast, get_args

import click

from tipstaff.cli.output import json_option, print_json, say
from tipstaff.surfaces.principal import Scope, of_this_process

if TYPE_CHECKING:
    from tipstaff.project import Project


@click.command()
@click.option(
    "--transport",
    type=click.Choice(["stdio", "http"]),
    default="stdio",
    show_default=True,
    help="How the host speaks to it.",
)
@click.option(
    "--scope",
    type=click.Choice(get_args(Scope)),
    default="propose",
    show_default=True,
    help="What the host may, or over HTTP any token: read looks and plans, propose also runs and proposes.",
)
@click.option(
    "--host",
    type=click.Choice(["127.0.0.1", "::1"]),
    help="HTTP: the address; else 127.0.0.1.",
)
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    help="HTTP: the port; else a free one.",
)
@json_option
def serve(transport: str, scope: str, host: str | None, port: int | None, as_json: bool) -> int:
    """Serve the tools until the host leaves, or until it is stopped.

    On stdio, standard output is the protocol's, and an error before it begins is one JSON document with --json. The
    caller is an agent, whoever starts this, and approves nothing. Every call leaves a record on the trail.

    With --transport http it listens on loopback and prints its URL. Each request needs a token of `tipstaff mcp token
    issue`, whose scope says which tools there are. SIGINT and SIGTERM end it.

    Exits 0 when the host has left or it was stopped, 2 where the project cannot be read or the address cannot be used,
    and 3 where the tokens cannot be read.
    """
    from tipstaff.project import Project

    project = Project.find()
    served = cast(Scope, scope)
    if transport == "http":
        _serve_http(project, served, (host or "127.0.0.1", port or 0), as_json)
        return 0
    if (host, port) != (None, None):
        raise click.UsageError("--host and --port are for --transport http")
    from tipstaff.surfaces.stdio import serve_stdio

    principal = of_this_process(served)
    serve_stdio(project, lambda: principal, say)
    return 0


def _serve_http(project: Project, served: Scope, address: tuple[str, int], as_json: bool) -> None:
    from tipstaff.surfaces.web.serving import listen, serve_http

    def ready(url: str) -> None:
        if as_json:
            print_json({"url": url})
        else:
            click.echo(url)
        sys.stdout.flush()
        say("serving until SIGINT or SIGTERM")

    serve_http(project, served, listen(*address), say, ready)
