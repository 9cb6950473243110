"""`tipstaff sandbox`: what isolates here, one command run in it, and the suite that tries to get out."""

from __future__ import annotations

from collections.abc import Mapping

import click

from tipstaff.cli.program import LazyGroup

VERBS: Mapping[str, tuple[str, str]] = {
    "doctor": ("doctor", "Probe every backend, and say what is missing and how to get it."),
    "escape": ("escape", "Try to get out of each backend, in every known way."),
    "install": ("install", "Build a backend's program into the user's cache."),
    "run": ("run", "Run one command isolated, on a private copy of a folder."),
}


@click.group(cls=LazyGroup, table=VERBS, package=__name__)
def sandbox() -> None:
    """Run code that nobody vouches for, and see what holds it."""
