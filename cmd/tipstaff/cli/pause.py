"""`tipstaff pause` and `tipstaff resume`."""

from __future__ import annotations

import click

from tipstaff.cli.output import exit_code, json_option, print_json, print_verdict, say
from tipstaff.cli.tiers import ask_about_classes, say_pauses
from tipstaff.documents.audit import Entry
from tipstaff.documents.input import control
from tipstaff.documents.text import visible
from tipstaff.engine import Engine
from tipstaff.ledger.pause import PauseSwitch
from tipstaff.ledger.trail import NewRecord
from tipstaff.project import prepare

_REFUSED = 2


@click.command()
@click.option("--user", help="Pause only what is done for this subject.")
@click.option("--reason", required=True, help="Why; kept in the state and the trail.")
@click.option("--hard", is_flag=True, help="Also stop what a person has already approved.")
@json_option
def pause(user: str | None, reason: str, hard: bool, as_json: bool) -> int:
    """Make automatic work wait for a person.

    Anybody may pause.
    """
    with Engine.open(say=say) as engine:
        # The switch first: a pause holds also where it cannot be recorded.
        PauseSwitch(prepare(engine.project.state)).pause(
            by=engine.actor, reason=reason, user=user, hard=hard
        )
        _record(engine, "paused", user, {"reason": visible(reason), "hard": hard})
    return _report("paused", user, as_json)


@click.command()
@click.option("--user", help="End the pause of this subject only.")
@click.option("--reason", default="", help="Why; kept in the trail.")
@json_option
def resume(user: str | None, reason: str, as_json: bool) -> int:
    """End a pause.

    Only a person may; an agent or CI gets exit 2.
    """
    with Engine.open(say=say) as engine:
        subject = user or engine.actor.id
        verdict = engine.decide(control("resume", _target(user), subject=subject))
        if not verdict.is_allowed:
            if as_json:
                print_json(verdict.model_dump(by_alias=True))
            else:
                print_verdict(verdict)
            return max(exit_code(verdict), _REFUSED)
        engine.redeem(verdict)
        _record(engine, "resumed", user, {"reason": visible(reason)})
        ended = PauseSwitch(prepare(engine.project.state)).resume(user=user)
        if ended is None:
            say("note: no such pause was in force")
        say_pauses(ask_about_classes(engine))
    return _report("resumed", user, as_json)


def _record(engine: Engine, entry: Entry, user: str | None, detail: dict[str, object]) -> None:
    engine.trail.append(
        NewRecord(decision=entry, target=_target(user), detail=detail, actor=engine.actor)
    )


def _target(user: str | None) -> str:
    return f"pause:user:{user}" if user else "pause:global"


def _report(state: str, user: str | None, as_json: bool) -> int:
    if as_json:
        print_json({"state": state, "user": user})
    else:
        click.echo(f"{state}: {visible(user) if user else 'everyone'}")
    return 0
