"""`tipstaff sidecar`: the OPA that answers for this project."""

from __future__ import annotations

import click

from tipstaff.cli.output import json_option, print_json, print_table, say
from tipstaff.cli.program import SuggestingGroup
from tipstaff.engine.policy import Policy
from tipstaff.pdp.sidecar import status as survey
from tipstaff.pdp.sidecar import stop as end
from tipstaff.project import Project


@click.group(cls=SuggestingGroup)
def sidecar() -> None:
    """Start, inspect and stop OPA.

    Commands that decide start it by themselves.
    """


@sidecar.command()
@json_option
def start(as_json: bool) -> int:
    """Start OPA on the current bundles, or join the one that runs; exits 3 when it does not become ready."""
    running = Policy(Project.find(), say).sidecar()
    revisions = {bundle.name: bundle.revision for bundle in running.bundles}
    if as_json:
        print_json({"pid": running.pid, "socket": str(running.socket), "revisions": revisions})
    else:
        click.echo(f"OPA runs (pid {running.pid}) on {' and '.join(revisions.values())}")
    return 0


@sidecar.command()
@json_option
def status(as_json: bool) -> int:
    """Show each sidecar of this project; exits 1 when none is ready."""
    found = survey(Project.find().state)
    rows = [
        {
            "pid": item.pid,
            "ready": item.is_ready,
            "network": item.network,
            "revisions": dict(item.revisions),
            "opa_version": item.opa_version,
        }
        for item in found
    ]
    if as_json:
        print_json({"sidecars": rows})
    elif not rows:
        click.echo("no sidecar runs")
    else:
        print_table(
            ["PID", "READY", "NETWORK", "REVISIONS", "OPA"],
            [
                [
                    row["pid"],
                    row["ready"],
                    row["network"],
                    " ".join(item.revisions.values()),
                    row["opa_version"],
                ]
                for row, item in zip(rows, found, strict=True)
            ],
        )
    return 0 if any(item.is_ready for item in found) else 1


@sidecar.command()
@json_option
def stop(as_json: bool) -> int:
    """Stop every sidecar of this project; the next decision starts one."""
    stopped = end(Project.find().state)
    if as_json:
        print_json({"stopped": stopped})
    else:
        click.echo(f"stopped {stopped}")
    return 0
