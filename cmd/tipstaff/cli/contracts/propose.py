"""`tipstaff contracts propose`: what a server advertises now, with what depends on it, as a change like any other."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from tipstaff.cli.contracts import observing
from tipstaff.cli.output import exit_code, json_option, print_json, say
from tipstaff.documents.server import demand_name
from tipstaff.documents.text import visible
from tipstaff.errors import UnobservedError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tipstaff.documents.base import Json
    from tipstaff.enforce.drift_section import Place
    from tipstaff.healing.repair.proposal import RepairOutcome

_SHOWN = 20
_PREVIEW = 160


@click.command()
@click.argument("name", metavar="NAME")
@click.option(
    "--candidate",
    metavar="DIGEST",
    help="Propose the contract that was observed with this digest, instead of asking the server.",
)
@click.option(
    "--tests",
    help="Command that runs the golden tests, in a sandbox; tests.command of tipstaff.yaml, if not given.",
)
@click.option("--subject", help="For whom the change is made; you, if not given.")
@json_option
def propose(
    name: str, candidate: str | None, tests: str | None, subject: str | None, as_json: bool
) -> int:
    """Propose what a server advertises now in place of its pinned contract.

    The change holds the new snapshot and the files that name a renamed tool or parameter, where that is surely what
    they name; every other such place is told in the pull request. Its class follows from what changed, and policy says
    what becomes of it, as for `tipstaff change propose`. Without a pinned contract the first one is proposed.

    Exits 0 when nothing changed or the change is allowed, 1 when it is not, 2 for bad input, 3 when the server is not
    observed whole or nothing could be decided. One that is proposed already is 0 when it was carried out, and 1 when it
    waits, was rejected, or was proposed elsewhere.
    """
    from tipstaff.cli.contracts.check import live
    from tipstaff.engine import Engine
    from tipstaff.evidence.repository import Repository
    from tipstaff.healing.repair.observed import seen_before, seen_now
    from tipstaff.healing.repair.proposal import RepairRequest, propose

    demand_name(name)
    with Engine.open(say=say) as engine:
        try:
            observed, canaries = (
                seen_now(engine, name, live(engine))
                if candidate is None
                else seen_before(engine, name, candidate)
            )
        except UnobservedError as error:
            if not as_json:
                observing.show_failed(error)
            raise
        request = RepairRequest(
            name=name,
            observed=observed,
            canaries=tuple(canaries),
            subject=engine.actor.id if subject is None else subject,
            tests=tests,
        )
        outcome = propose(engine, Repository.open(engine.project.root), request, say=say)
    if as_json:
        print_json(_as_json(outcome))
    else:
        _print(outcome)
    return _exit_code(outcome)


def _exit_code(outcome: RepairOutcome) -> int:
    if outcome.change is not None:
        return exit_code(outcome.change.verdict)
    if outcome.status == "unchanged":
        return 0
    earlier = outcome.earlier
    return 0 if earlier is not None and earlier.state in ("proposed", "ready") else 1


def _as_json(outcome: RepairOutcome) -> Json:
    from tipstaff.cli.change import outcome_as_json

    repair = outcome.repair
    nothing = dict.fromkeys(
        ("verdict", "branch", "commit", "pull_request", "approval", "tests", "sandbox")
    )
    made = {**nothing, "branch": outcome.branch}
    if outcome.change is not None:
        made = outcome_as_json(outcome.change)
    elif outcome.earlier is not None:
        made |= {"commit": outcome.earlier.commit, "pull_request": outcome.earlier.pull_request}
    return {
        "name": repair.server,
        "status": outcome.status,
        "diff": outcome.diff.model_dump(),
        "dependents": {
            "rewritten": [_place(place) for place in repair.rewritten],
            "todo": [_place(place) for place in repair.todo],
            "read": repair.read,
            "skipped": list(repair.skipped),
            "unseen": repair.unseen,
        },
        **made,
    }


def _place(place: Place) -> Json:
    return {
        "path": place.path,
        "line": place.line,
        "name": place.name,
        "new": place.new,
        "why": place.why,
        "preview": visible(place.preview, limit=_PREVIEW),
        "more": place.more,
    }


def _print(outcome: RepairOutcome) -> None:
    from tipstaff.cli.change import print_outcome
    from tipstaff.cli.contracts.shown import show_lines

    if outcome.diff.findings:
        show_lines(outcome.diff)
    if outcome.status == "unchanged":
        click.echo(visible(f"{outcome.repair.server}: nothing changed, so nothing is proposed"))
        return
    _print_places("rewritten", outcome.repair.rewritten)
    _print_places("to do", outcome.repair.todo)
    if outcome.repair.unseen:
        click.echo(f"to do      {outcome.repair.unseen} places more")
    for reason in outcome.repair.skipped:
        click.echo(f"left out   {reason}")
    if outcome.change is not None:
        print_outcome(outcome.change)
        return
    click.echo(f"proposed already: branch {outcome.branch}; delete it to propose anew")
    if outcome.earlier is not None and outcome.earlier.pull_request:
        click.echo(f"pull request {visible(outcome.earlier.pull_request)}")


def _print_places(title: str, places: Sequence[Place]) -> None:
    for place in places[:_SHOWN]:
        at = visible(f"{place.path}:{place.line}", limit=_PREVIEW)
        what = (
            f"{place.name} → {place.new}" if title == "rewritten" else f"{place.name}: {place.why}"
        )
        click.echo(f"{title:9}  {at}  {visible(what, limit=_PREVIEW)}")
        click.echo(f"           {visible(place.preview, limit=_PREVIEW)}")
    if len(places) > _SHOWN:
        click.echo(f"{title:9}  {len(places) - _SHOWN} more places")
