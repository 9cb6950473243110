"""`tipstaff contracts canary`: calls that are recorded in a snapshot, and made again to see whether answers changed."""

from __future__ import annotations

from collections.abc import Mapping

import click

from tipstaff.cli.program import LazyGroup

VERBS: Mapping[str, tuple[str, str]] = {
    "record": ("record", "Record a call and what it answers."),
    "run": ("run", "Make the recorded calls again."),
}


@click.group(cls=LazyGroup, table=VERBS, package=__name__)
def canary() -> None:
    """Record calls of a server's tools, and make them again."""
