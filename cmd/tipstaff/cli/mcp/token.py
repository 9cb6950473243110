"""`tipstaff mcp token`: the secrets by which hosts come in over HTTP."""

from __future__ import annotations

from typing import TYPE_CHECKING, get_args

import click

from tipstaff.cli.output import exit_code, json_option, print_json, print_table, print_verdict, say
from tipstaff.cli.program import SuggestingGroup
from tipstaff.documents.base import Json
from tipstaff.documents.text import visible
from tipstaff.errors import ContractError
from tipstaff.surfaces.principal import Scope

if TYPE_CHECKING:
    from tipstaff.ledger.tokens import Token

_SHOWN = ("id", "name", "scope", "issued_at", "expires_at", "revoked_at")


@click.group(cls=SuggestingGroup)
def token() -> None:
    """Issue, list and revoke tokens of hosts that come in over HTTP."""


@token.command()
@click.argument("name", metavar="NAME")
@click.option(
    "--scope",
    type=click.Choice(get_args(Scope)),
    default=get_args(Scope)[0],
    show_default=True,
    help="What its bearer may: read looks and plans, propose also runs and proposes.",
)
@click.option("--lifetime", metavar="SPAN", help="30d, 12h or 90m; else what policy says.")
@json_option
def issue(name: str, scope: str, lifetime: str | None, as_json: bool) -> int:
    """Issue a token, and print it: this once, and nobody can show it again.

    NAME is whom it is given to, and what the trail calls them. Only a person issues tokens.

    Exits 0 when it is issued, 1 when policy refuses, and 2 for a name that is none or was used before.
    """
    from tipstaff.engine import Engine
    from tipstaff.surfaces import access

    seconds = None if lifetime is None else _seconds(lifetime)
    with Engine.open(say=say) as engine:
        done = access.issue(engine, name, scope, seconds)
    if as_json:
        shown = {**_public(done.token), "token": done.text} if done.token else None
        print_json({"verdict": done.verdict.model_dump(by_alias=True), "issued": shown})
    elif done.token is None:
        print_verdict(done.verdict)
    else:
        click.echo(done.text)
        say(f"{done.token.name} may {done.token.scope} until {done.token.expires_at}")
        say("keep it now: only its digest is kept here")
    return exit_code(done.verdict)


@token.command("list")
@json_option
def list_tokens(as_json: bool) -> int:
    """List every token that was issued, and whether it still counts. No secret is shown."""
    from tipstaff.project import Project
    from tipstaff.surfaces import access

    project = Project.find()
    found = access.tokens_of(project).all()
    verdicts = access.standings(project, found, get_args(Scope)[-1])
    shown: list[Json] = [
        {**_public(each), "counts": verdict.is_allowed, "codes": list(verdict.codes)}
        for each, verdict in zip(found, verdicts, strict=True)
    ]
    if as_json:
        print_json({"tokens": shown})
        return 0
    print_table(
        ["NAME", "ID", "SCOPE", "EXPIRES", "COUNTS"],
        [
            [each["name"], each["id"], each["scope"], each["expires_at"], _standing(each)]
            for each in shown
        ],
    )
    return 0


@token.command()
@click.argument("name", metavar="NAME")
@json_option
def revoke(name: str, as_json: bool) -> int:
    """Revoke a token: a server that runs refuses it from its bearer's next call on.

    Exits 0 when it is revoked, now or before, 1 when policy refuses, and 2 for an unknown name.
    """
    from tipstaff.engine import Engine
    from tipstaff.surfaces import access

    with Engine.open(say=say) as engine:
        verdict, found = access.revoke(engine, name)
    if as_json:
        print_json({"verdict": verdict.model_dump(by_alias=True), "revoked": _public(found)})
    elif not verdict.is_allowed:
        print_verdict(verdict)
    else:
        click.echo(visible(f"{found.name} was revoked at {found.revoked_at}"))
    return exit_code(verdict)


def _public(found: Token) -> Json:
    return {name: getattr(found, name) for name in _SHOWN}


def _standing(shown: Json) -> str:
    return "yes" if shown["counts"] else f"no: {', '.join(shown['codes'])}"


def _seconds(lifetime: str) -> int:
    from tipstaff.cli.policy.expires import span

    found = span(lifetime)
    if found is None:
        raise ContractError(
            "token.lifetime",
            f"{visible(lifetime)} is not a span of time",
            field="--lifetime",
            fix="give 30d, 12h or 90m",
        )
    return int(found.total_seconds())
