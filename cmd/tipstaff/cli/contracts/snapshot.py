"""`tipstaff contracts snapshot`: what a live server advertises, as a first pin or against the one that is there."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from tipstaff.cli.completion import files
from tipstaff.cli.contracts import observing, pins
from tipstaff.cli.contracts.shown import show_lines
from tipstaff.cli.output import json_option, print_json, say
from tipstaff.documents.base import parse
from tipstaff.documents.contract import read_snapshot
from tipstaff.documents.server import Server
from tipstaff.documents.text import visible
from tipstaff.errors import UnobservedError

if TYPE_CHECKING:
    from pathlib import Path

    from tipstaff.drift.observing.target import Observation, Target
    from tipstaff.healing.contracts import Graded
    from tipstaff.project import Project


@click.command(context_settings={"allow_interspersed_args": True})
@click.argument("name", metavar="NAME")
@click.argument("command", nargs=-1, type=click.UNPROCESSED, metavar="[-- CMD [ARG]...]")
@click.option("--url", metavar="URL", help="Address of a server that speaks streamable HTTP.")
@click.option(
    "--header",
    "headers",
    multiple=True,
    metavar="NAME=VARIABLE",
    help="Header to send, with the variable that holds its value.",
)
@click.option(
    "--env", "environment", multiple=True, metavar="VARIABLE", help="Variable that CMD gets."
)
@click.option(
    "--out",
    metavar="FILE",
    shell_complete=files,
    help="Where to write; else NAME.mcpc.json in contracts/.",
)
@json_option
def snapshot(  # noqa: PLR0913 (one parameter for each option)
    name: str,
    command: tuple[str, ...],
    url: str | None,
    headers: tuple[str, ...],
    environment: tuple[str, ...],
    out: str | None,
    as_json: bool,
) -> int:
    """Capture what a live server advertises.

    CMD is started inside the sandbox, without a network; without CMD and URL the server is the one that tipstaff.yaml
    calls NAME. All lists are taken three times, over two sessions, and must agree.

    A snapshot that is there already is not overwritten: then the graded difference is shown.

    Exits 0 when nothing is found to fail on, 1 when something is, 2 for bad input, 3 when the server is not observed
    whole.
    """
    pins.demand_name(name)
    project = observing.here()
    target = _target(project, name, command, url, headers, environment)
    pin = pins.pin(name)
    path = None if out is None and pin.exists() else pins.target(name, out)
    try:
        found = observing.observe(project, target)
    except UnobservedError as error:
        if not as_json:
            observing.show_failed(error)
        raise
    graded = _graded(project, found, pin, path)
    written = _written(found, graded, path)
    if as_json:
        print_json(
            {
                "file": written,
                "digest": found.snapshot.digest,
                "diff": graded.diff.model_dump(),
                "report": found.report.model_dump(mode="json"),
            }
        )
    else:
        _show(found, graded, written, pin if path is None else None)
    return 1 if graded.fails else 0


def _target(
    project: Project,
    name: str,
    command: tuple[str, ...],
    url: str | None,
    headers: tuple[str, ...],
    environment: tuple[str, ...],
) -> Target:
    from tipstaff.drift.observing.target import Target

    if not (command or url or headers or environment):
        return observing.configured(project, name)
    pairs = [header.partition("=") for header in headers]
    if any(not sign for _, sign, _ in pairs):
        raise click.BadParameter(
            "write NAME=VARIABLE; the value is read from the variable", param_hint="--header"
        )
    given = {
        **({"command": list(command)} if command else {}),
        **({"url": url} if url is not None else {}),
        **({"headers": {header: variable for header, _, variable in pairs}} if pairs else {}),
        **({"environment": list(environment)} if environment else {}),
    }
    return Target.configured(name, parse(Server, given))


def _graded(project: Project, found: Observation, pin: Path, path: Path | None) -> Graded:
    """Against the pin where there is one, else by itself and beside the other servers' pins."""
    from tipstaff.engine import Engine
    from tipstaff.healing.contracts import Wanted, compare, look

    old = read_snapshot(pin) if path is None else None
    with Engine.open(str(project.root), say=say) as engine:
        if old is not None:
            return compare(engine, old, found.snapshot, Wanted("error"))
        rest = list(pins.others(path or pin, found.snapshot.server_id))
        return look(engine, found.snapshot, rest, Wanted("error"))


def _written(found: Observation, graded: Graded, path: Path | None) -> str | None:
    if path is None or any(one.kind == "name_duplicate" for one in graded.diff.findings):
        return None
    pins.write(path, found.snapshot)
    return str(path)


def _show(found: Observation, graded: Graded, written: str | None, pin: Path | None) -> None:
    if graded.diff.findings or pin is not None:
        show_lines(graded.diff)
    observing.show_report(found.report)
    counted = pins.counted(found.snapshot)
    click.echo(visible(f"{written or 'nothing written'}: {counted}"))
    if pin is not None and graded.diff.drift:
        say(f"{pin} stays as it is: a person moves it")
