"""`tipstaff contracts`: what MCP servers advertise, kept as snapshots and held against each other."""

from __future__ import annotations

from collections.abc import Mapping

import click

from tipstaff.cli.program import LazyGroup

VERBS: Mapping[str, tuple[str, str]] = {
    "accept": ("accept", "Let a person move a snapshot to what was shown."),
    "canary": ("canary", "Record calls of a server's tools, and make them again."),
    "check": ("check", "Hold live servers against their snapshots."),
    "diff": ("diff", "Grade what changed between two snapshots."),
    "import": ("importing", "Make a snapshot of a capture made elsewhere."),
    "propose": ("propose", "Propose what a server advertises now, with what depends on it."),
    "snapshot": ("snapshot", "Capture what a live server advertises."),
}


@click.group(cls=LazyGroup, table=VERBS, package=__name__)
def contracts() -> None:
    """Keep and compare what MCP servers advertise."""
