"""`tipstaff governed-harness`: what stands between a change of a harness and its promotion."""

from __future__ import annotations

from collections.abc import Mapping

import click

from tipstaff.cli.program import LazyGroup

VERBS: Mapping[str, tuple[str, str]] = {
    "approvals": ("approvals", "List the requests of an approval store, and count them."),
    "approve": ("deciding", "Approve a request."),
    "init": ("init", "Write a specification to start from."),
    "plan": ("plan", "Read a specification and say what its stages would be."),
    "reject": ("deciding", "Reject a request."),
    "run": ("run", "Take a specification through every stage, and give its receipt."),
}


@click.group("governed-harness", cls=LazyGroup, table=VERBS, package=__name__)
def governed_harness() -> None:
    """Judge a change of a harness; list and decide the requests it makes.

    Nothing here applies the change.
    """
