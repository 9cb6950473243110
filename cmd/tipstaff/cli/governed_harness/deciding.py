"""`tipstaff governed-harness approve` and `reject`: a person's decision, as one more line of the store."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from tipstaff.cli.governed_harness.store import store_option
from tipstaff.cli.output import json_option, print_json, say
from tipstaff.documents.text import visible

if TYPE_CHECKING:
    from tipstaff.enforce.approval_queue import ApprovalQueue, Taken

F = TypeVar("F", bound=Callable[..., Any])


def _common(function: F) -> F:
    for option in (
        json_option,
        click.option("--note", help="Kept with the decision."),
        click.option("--key", required=True, help="Key of the request, whole, as listed."),
        store_option,
    ):
        function = option(function)
    return function


@click.command()
@_common
@click.option("--token", help="Token that the first confirmation printed.")
def approve(store: str, key: str, note: str | None, token: str | None, as_json: bool) -> int:
    """Approve a request; the next run of the same spec goes on from there.

    Only a person may. Exits 1 when a second confirmation is needed, 2 when the key is unknown or decided, its time is
    over, or policy lets this caller approve nothing; no line is written then.
    """
    return _report(store, as_json, lambda queue: queue.approve(key, token=token, note=note))


@click.command()
@_common
def reject(store: str, key: str, note: str | None, as_json: bool) -> int:
    """Reject a request, for good. One step suffices, also where approving takes two.

    Only a person may. Exits 2 when the key is unknown or decided, its time is over, or policy lets this caller reject
    nothing; no line is written then.
    """
    return _report(store, as_json, lambda queue: queue.reject(key, note=note))


def _report(store: str, as_json: bool, decide: Callable[[ApprovalQueue], Taken]) -> int:
    from tipstaff.enforce.approval_queue import ApprovalQueue
    from tipstaff.engine import Engine
    from tipstaff.ledger.approval_store import open_store, shown_place

    with Engine.open(say=say) as engine:
        taken = decide(ApprovalQueue(engine, open_store(store)))
    if as_json:
        print_json(taken.public())
    elif taken.token is None:
        click.echo(f"request {taken.request.key} is {taken.request.status}")
    else:
        minutes = taken.request.confirm_within_s // 60
        click.echo(f"confirmed once; confirm again within {minutes} minutes:")
        click.echo(
            f"  tipstaff governed-harness approve --store {visible(shown_place(store))}"
            f" --key {taken.request.key} --token {taken.token}"
        )
    return 1 if taken.token else 0
