"""`tipstaff sidecar`: the OPA that answers for this project."""

from __future__ import annotations

from typing import Any

import click

from tipstaff.cli.output import json_option, print_json, print_table, say
from tipstaff.cli.program import SuggestingGroup
from tipstaff.engine.policy import Policy
from tipstaff.errors import ContractError
from tipstaff.pdp.mode import MODES, Mode, docker_record
from tipstaff.pdp.sidecar import status as survey
from tipstaff.pdp.sidecar import stop as end
from tipstaff.project import Project


@click.group(cls=SuggestingGroup)
def sidecar() -> None:
    """Start, inspect and stop OPA.

    Commands that decide start the embedded one by themselves.
    """


@sidecar.command()
@click.option(
    "--mode",
    "chosen",
    type=click.Choice(MODES),
    help="embedded: a child on a socket. docker: a container, used until `sidecar stop`. "
    "remote: start nothing, check the one at TIPSTAFF_OPA_URL. Else the mode in use.",
)
@json_option
def start(chosen: Mode | None, as_json: bool) -> int:
    """Start OPA on the current bundles, or join it.

    Exits 3 when it does not become ready.
    """
    policy = Policy(Project.find(), say)
    mode = chosen or policy.mode
    _demand_effect(mode, policy.mode)
    facts = {"embedded": _embedded, "docker": _docker, "remote": _remote}[mode](policy)
    revisions = {bundle.name: bundle.revision for bundle in policy.bundles()}
    if as_json:
        print_json({"mode": mode, **facts, "revisions": revisions})
    else:
        where = ", ".join(f"{name} {value}" for name, value in facts.items() if name != "socket")
        verb = "answers" if mode == "remote" else "runs"
        click.echo(f"OPA {verb} ({mode}, {where}) on {' and '.join(revisions.values())}")
    return 0


def _demand_effect(mode: Mode, used: Mode) -> None:
    """Refuse to start what no decision would then ask. A container may take the embedded sidecar's place."""
    if mode == used or (mode, used) == ("docker", "embedded"):
        return
    if mode == "remote":
        raise ContractError(
            "sidecar.mode",
            "no remote OPA is named",
            field="TIPSTAFF_OPA_URL",
            fix="set TIPSTAFF_OPA_URL, and where it needs them TIPSTAFF_OPA_TOKEN and TIPSTAFF_OPA_CA",
        )
    unset = "unset TIPSTAFF_OPA_URL" if used == "remote" else "run `tipstaff sidecar stop` first"
    raise ContractError("sidecar.mode", f"decisions use the mode {used}", field="--mode", fix=unset)


def _embedded(policy: Policy) -> dict[str, Any]:
    running = policy.sidecar()
    return {"pid": running.pid, "socket": str(running.socket)}


def _docker(policy: Policy) -> dict[str, Any]:
    running = policy.container()
    return {"container": running.container[:12], "url": running.url}


def _remote(policy: Policy) -> dict[str, Any]:
    from tipstaff.pdp.address import Remote

    with policy.client() as client:
        client.check()
    remote = Remote.from_environment()
    return {"url": remote.url if remote else ""}


@sidecar.command()
@json_option
def status(as_json: bool) -> int:
    """Show each sidecar of this project; exits 1 when none is ready.

    An embedded one that serves earlier bundles is asked by nobody any more and ends by itself, 15 minutes after its
    last answer.
    """
    project = Project.find()
    rows = [_row(item) for item in survey(project.state)]
    if docker_record(project.state).exists():
        rows += _containers(project)
    if as_json:
        print_json({"sidecars": rows})
    elif not rows:
        click.echo("no sidecar runs")
    else:
        print_table(
            ["MODE", "PID", "READY", "NETWORK", "ENDS IF UNUSED", "OPA", "REVISIONS"],
            [
                [
                    row["mode"],
                    row["pid"],
                    row["ready"],
                    row["network"],
                    _end(row["ends_in_s"]),
                    row["opa_version"],
                    " ".join(row["revisions"].values()),
                ]
                for row in rows
            ],
        )
    return 0 if any(row["ready"] for row in rows) else 1


def _row(item: Any) -> dict[str, Any]:
    return {
        "mode": "embedded",
        "pid": item.pid,
        "ready": item.is_ready,
        "network": item.network,
        "revisions": dict(item.revisions),
        "opa_version": item.opa_version,
        "ends_in_s": round(item.ends_in_s),
    }


def _end(seconds: int | None) -> str:
    return "never" if seconds is None else f"in {-(-seconds // 60)} min"


def _containers(project: Project) -> list[dict[str, Any]]:
    """The container as it is now; a row that is not ready where it has gone."""
    from tipstaff.pdp import docker_sidecar

    found = docker_sidecar.status(project.state)
    return [
        {
            "mode": "docker",
            "pid": item.container.pid if item.container else 0,
            "ready": item.is_ready,
            "network": "bridge",
            "revisions": item.record["revisions"],
            "opa_version": item.record["opa_version"],
            "ends_in_s": None,
        }
        for item in found
    ]


@sidecar.command()
@json_option
def stop(as_json: bool) -> int:
    """Stop every sidecar of this project.

    The one in Docker too; the next decision starts an embedded one.
    """
    state = Project.find().state
    stopped = end(state)
    if docker_record(state).parent.is_dir():
        from tipstaff.pdp import docker_sidecar

        stopped += docker_sidecar.stop(state)
    if as_json:
        print_json({"stopped": stopped})
    else:
        click.echo(f"stopped {stopped}")
    return 0
