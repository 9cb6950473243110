"""`tipstaff governed-harness`: what stands between a change of a harness and its promotion."""

from __future__ import annotations

from collections.abc import Mapping

import click

from tipstaff.cli.program import LazyGroup

VERBS: Mapping[str, tuple[str, str]] = {
    "approvals": ("approvals", "List the requests of an approval store, and count them."),
    "approve": ("deciding", "Approve a request."),
    "reject": ("deciding", "Reject a request."),
}


@click.group("governed-harness", cls=LazyGroup, table=VERBS, package=__name__)
def governed_harness() -> None:
    """Judge a change of a harness; list and decide the requests it makes.

    Nothing here applies the change.
    """
