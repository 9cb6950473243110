"""`tipstaff governed-harness approvals`: the queue of an approval store. It is read, and nothing else."""

from __future__ import annotations

import click

from tipstaff.cli.governed_harness.store import store_option
from tipstaff.cli.output import counted, json_option, print_json, print_table, say

# Always counted; another status is where there is one.
_COUNTED = ("pending", "approved", "rejected")


@click.command()
@store_option
@click.option(
    "--status",
    type=click.Choice([*_COUNTED, "all"]),
    default="pending",
    show_default=True,
    help="Only requests that stand so; the counts are of every status.",
)
@json_option
def approvals(store: str, status: str, as_json: bool) -> int:
    """List the requests of an approval store, and count those of every status.

    A store that is not there is an empty queue. Exits 3 where a line is damaged; it is named, and nothing is decided.
    """
    from tipstaff.ledger.approval_store import read_store

    held = read_store(store)
    found = [request for request in held if status in ("all", request.status)]
    counts = dict.fromkeys(_COUNTED, 0)
    for request in held:
        counts[request.status] = counts.get(request.status, 0) + 1
    if as_json:
        print_json({"requests": [request.public() for request in found], "counts": counts})
        return 0
    print_table(
        ["KEY", "STATUS", "URGENCY", "EXPIRES", "WHAT"],
        [
            [request.key, request.status, request.urgency, request.expires_at, request.what]
            for request in found
        ],
    )
    say(
        f"{counted(len(held), 'request')}: "
        + ", ".join(f"{n} {name}" for name, n in counts.items())
    )
    return 0
