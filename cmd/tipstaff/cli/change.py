"""`tipstaff change`: propose a change and look at proposed ones."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tipstaff.cli.completion import action_classes, files
from tipstaff.cli.output import (
    exit_code,
    json_option,
    print_json,
    print_table,
    print_verdict,
    say,
)
from tipstaff.cli.program import SuggestingGroup
from tipstaff.documents.text import visible
from tipstaff.engine import Engine
from tipstaff.errors import ContractError

if TYPE_CHECKING:
    from tipstaff.healing.proposal import Outcome
    from tipstaff.ledger.changes import Changes


@click.group(cls=SuggestingGroup)
def change() -> None:
    """Propose a change; list and show proposed ones."""


@change.command()
@click.option(
    "--class",
    "action_class",
    required=True,
    shell_complete=action_classes,
    help="Action class, such as heal_additive.",
)
@click.option(
    "--diff",
    required=True,
    shell_complete=files,
    help="Unified diff, a file or - for standard input.",
)
@click.option(
    "--tests",
    help="Command that runs the golden tests, in a sandbox; tests.command of tipstaff.yaml, if not given.",
)
@click.option(
    "--test-path", multiple=True, help="Path that judges the change; taken from the base."
)
@click.option(
    "--base", default="HEAD", show_default=True, help="Revision that the diff applies to."
)
@click.option("--subject", help="For whom the change is made; you, if not given.")
@click.option("--request-capability", multiple=True, help="Capability that the change asks for.")
@json_option
def propose(  # noqa: PLR0913 (one parameter for each option)
    action_class: str,
    diff: str,
    tests: str | None,
    test_path: tuple[str, ...],
    base: str,
    subject: str | None,
    request_capability: tuple[str, ...],
    as_json: bool,
) -> int:
    """Have a change judged, and carry the verdict out.

    Allow makes a branch, a commit and a pull request that is ready; require_approval makes the same as a draft, and a
    request for approval; escalate and deny leave only the record. The working tree, the index and the current branch
    are never touched. Exits 0 on allow, 1 otherwise, 2 for a bad diff, 3 when nothing could be decided.
    """
    from tipstaff.cli.choice import remember_choice
    from tipstaff.evidence.repository import Repository
    from tipstaff.healing.proposal import Request, propose

    content = _read(diff)
    with Engine.open(say=say) as engine:
        if not as_json:
            remember_choice(engine, action_class)
        request = Request(
            diff=content,
            action_class=action_class,
            subject=engine.actor.id if subject is None else subject,
            base=base,
            tests=tests,
            test_paths=test_path,
            requested_capabilities=request_capability,
        )
        outcome = propose(engine, Repository.open(engine.project.root), request, say=say)
    if as_json:
        print_json(outcome_as_json(outcome))
    else:
        print_outcome(outcome)
    return exit_code(outcome.verdict)


@change.command("list")
@json_option
def list_changes(as_json: bool) -> int:
    """List changes, oldest first."""
    changes = _changes().list()
    if as_json:
        print_json({"changes": [item.model_dump() for item in changes]})
        return 0
    print_table(
        ["ID", "AT", "CLASS", "EFFECT", "STATE", "BRANCH"],
        [
            [item.id, item.created_at, item.action_class, item.effect, item.state, item.branch]
            for item in changes
        ],
    )
    return 0


@change.command()
@click.argument("change_id", metavar="ID")
@json_option
def show(change_id: str, as_json: bool) -> int:
    """Show one change by its id or a unique beginning of it."""
    found = _changes().show(change_id)
    if as_json:
        print_json(found.model_dump())
        return 0
    for name, value in found.model_dump().items():
        text = ", ".join(value) if isinstance(value, list) else value
        click.echo(f"{name}: {visible(str(text))}")
    return 0


def _read(diff: str) -> bytes:
    from tipstaff.evidence.patch_headers import MAX_BYTES

    if diff == "-":
        return sys.stdin.buffer.read(MAX_BYTES + 1)
    try:
        with Path(diff).open("rb") as stream:
            return stream.read(MAX_BYTES + 1)
    except OSError as error:
        raise ContractError(
            "file.unreadable",
            error.strerror or str(error),
            file=diff,
            field="--diff",
            fix="name a readable file",
        ) from error


def _changes() -> Changes:
    from tipstaff.ledger.changes import Changes
    from tipstaff.ledger.database import open_database
    from tipstaff.project import Project, prepare

    return Changes(open_database(prepare(Project.find().state)))


def outcome_as_json(outcome: Outcome) -> dict[str, object]:
    """What came of a proposal, as ``--json`` prints it."""
    effects, run = outcome.effects, outcome.golden
    return {
        "verdict": outcome.verdict.model_dump(by_alias=True),
        "branch": effects.branch,
        "commit": effects.commit,
        "pull_request": effects.pull_request,
        "approval": effects.approval.model_dump(by_alias=True) if effects.approval else None,
        "tests": run.tests.model_dump() if run.tests else None,
        "sandbox": run.sandbox.model_dump() if run.sandbox else None,
    }


def print_outcome(outcome: Outcome) -> None:
    """What came of a proposal, for people."""
    run, effects = outcome.golden, outcome.effects
    if run.tests is not None:
        click.echo(
            f"tests: {run.tests.passed} passed, {run.tests.failed} failed, "
            f"{run.tests.skipped} skipped"
        )
    else:
        click.echo(f"tests: no evidence ({visible(run.reason or 'none ran')})")
    print_verdict(outcome.verdict)
    if effects.branch:
        click.echo(f"branch {effects.branch}")
    if effects.pull_request:
        click.echo(f"pull request {visible(effects.pull_request)}")
    if effects.approval:
        key = effects.approval.key[:12]
        click.echo(f"waiting for a person: tipstaff approvals approve {key}")
