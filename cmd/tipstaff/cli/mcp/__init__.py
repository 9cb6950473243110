"""`tipstaff mcp`: the server whose tools an MCP host calls."""

from __future__ import annotations

from collections.abc import Mapping

import click

from tipstaff.cli.program import LazyGroup

VERBS: Mapping[str, tuple[str, str]] = {
    "serve": ("serve", "Serve the tools until the host leaves."),
    "token": ("token", "Issue, list and revoke tokens of hosts that come in over HTTP."),
}


@click.group(cls=LazyGroup, table=VERBS, package=__name__)
def mcp() -> None:
    """Serve an MCP host the tools that it may call."""
