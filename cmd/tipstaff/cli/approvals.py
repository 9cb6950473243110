"""`tipstaff approvals`: requests that wait for a person."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import click

from tipstaff.cli.output import exit_code, json_option, print_json, print_table, print_verdict, say
from tipstaff.cli.program import SuggestingGroup
from tipstaff.documents.approval import STATUSES
from tipstaff.documents.text import visible
from tipstaff.engine import Engine

if TYPE_CHECKING:
    from tipstaff.enforce.approval_queue import Taken
    from tipstaff.healing.approval import Approver

_STATUSES = (*STATUSES, "all")


@click.group(cls=SuggestingGroup)
def approvals() -> None:
    """List, show, approve and reject requests.

    Only a person decides on one.
    """


@approvals.command("list")
@click.option("--status", type=click.Choice(_STATUSES), default="pending", show_default=True)
@click.option(
    "--stale", is_flag=True, help="Only pending ones that an edit of policy has invalidated."
)
@json_option
def list_requests(status: str, stale: bool, as_json: bool) -> int:
    """List requests, and count those of every status."""
    with Engine.open(say=say) as engine:
        approver = _approver(engine)
        approver.expire()
        if stale:
            found = approver.approvals.stale(engine.policy.revisions()["tipstaff"] or "")
        else:
            found = approver.approvals.list(None if status == "all" else status)
        counts = approver.approvals.counts()
    if as_json:
        print_json({"requests": [request.public() for request in found], "counts": counts})
        return 0
    print_table(
        ["KEY", "STATUS", "URGENCY", "EXPIRES", "WHAT"],
        [
            [request.key[:12], request.status, request.urgency, request.expires_at, request.what]
            for request in found
        ],
    )
    return 0


@approvals.command()
@click.argument("key")
@json_option
def show(key: str, as_json: bool) -> int:
    """Show one request by its key or a unique beginning of it, with the diff it is about."""
    with Engine.open(say=say) as engine:
        approver = _approver(engine)
        approver.expire()
        request = approver.approvals.show(key)
        diff = approver.approvals.material(request.key).diff
    if as_json:
        print_json({**request.public(), "diff": diff.decode("utf-8", "backslashreplace")})
        return 0
    for name, value in request.public().items():
        lines = value if isinstance(value, list) else [_plain(value)]
        click.echo(f"{name}: {'; '.join(visible(str(line)) for line in lines) or 'none'}")
    click.echo("diff (from outside, escaped):")
    for line in diff.decode("utf-8", "backslashreplace").split("\n"):
        click.echo(f"  {visible(line)}")
    return 0


@approvals.command()
@click.argument("key")
@click.option("--token", help="Token that the first confirmation printed.")
@click.option("--note", help="Kept with the decision.")
@json_option
def approve(key: str, token: str | None, note: str | None, as_json: bool) -> int:
    """Approve a request: it is judged again, and carried out if policy still lets a person approve it.

    Exits 0 when carried out, 1 when policy refuses or a second confirmation is needed, 2 for a request that is
    unknown, decided or expired.
    """
    with Engine.open(say=say) as engine:
        decision = _approver(engine).approve(key, token=token, note=note)
    return _report(decision, as_json)


@approvals.command()
@click.argument("key")
@click.option("--note", help="Kept with the decision.")
@json_option
def reject(key: str, note: str | None, as_json: bool) -> int:
    """Reject a request and close its pull request. One step suffices, also where approving takes two."""
    with Engine.open(say=say) as engine:
        decision = _approver(engine).reject(key, note=note)
    return _report(decision, as_json)


def _approver(engine: Engine) -> Approver:
    from tipstaff.evidence.repository import Repository
    from tipstaff.healing.approval import Approver

    return Approver(engine, Repository.open(engine.project.root), say=say)


def _plain(value: object) -> str:
    if isinstance(value, dict):
        return ", ".join(
            f"{name} {json.dumps(item)}" for name, item in value.items() if item is not None
        )
    return "" if value is None else str(value)


def _report(decision: Taken, as_json: bool) -> int:
    if as_json:
        print_json(decision.public())
    elif decision.token is None:
        print_verdict(decision.verdict)
        click.echo(f"request {decision.request.key[:12]} is {decision.request.status}")
    else:
        minutes = decision.request.confirm_within_s // 60
        click.echo(f"confirmed once; confirm again within {minutes} minutes:")
        click.echo(
            f"  tipstaff approvals approve {decision.request.key[:12]} --token {decision.token}"
        )
    return 1 if decision.token else exit_code(decision.verdict)
