"""`tipstaff contracts snapshot`: what a live server advertises, as a first pin or against the one that is there."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from tipstaff.cli.completion import files
from tipstaff.cli.contracts import observing, pins
from tipstaff.cli.contracts.shown import say_what_to_do, show_lines
from tipstaff.cli.output import json_option, print_json, say
from tipstaff.documents.base import parse
from tipstaff.documents.server import Server
from tipstaff.documents.text import visible
from tipstaff.errors import UnobservedError
from tipstaff.healing.pins.baseline import pin_path

if TYPE_CHECKING:
    from pathlib import Path

    from tipstaff.documents.contract import Snapshot
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

    A snapshot that is there already is not overwritten: then the graded difference is shown, and what is new is kept
    aside, for a person to accept by its digest.

    Exits 0 when nothing is found to fail on, 1 when something is, 2 for bad input, 3 when the server is not observed
    whole.
    """
    project = observing.here()
    target = _target(project, name, command, url, headers, environment)
    is_pinned = out is None and pin_path(project.root, name).exists()
    path = None if is_pinned else pins.target(name, out)
    try:
        found = observing.observe(project, target)
    except UnobservedError as error:
        if not as_json:
            observing.show_failed(error)
        raise
    new, graded = _graded(project, found, path)
    written = _written(new, graded, path)
    if as_json:
        print_json(
            {
                "file": written,
                "digest": new.digest,
                "diff": graded.diff.model_dump(),
                "report": found.report.model_dump(mode="json"),
            }
        )
    else:
        if graded.diff.findings or path is None:
            show_lines(graded.diff)
        observing.show_report(found.report)
        click.echo(visible(f"{written or 'nothing written'}: {pins.counted(new)}"))
        if new.digest != graded.diff.old_digest and path is None:
            say_what_to_do(name, new.digest)
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


def _graded(project: Project, found: Observation, path: Path | None) -> tuple[Snapshot, Graded]:
    """Against the pin where there is one, whose recorded calls go on, else by itself; and beside other servers' pins.

    What differs from a pin is kept as a candidate.
    """
    from tipstaff.drift.candidates import Candidates
    from tipstaff.engine import Engine
    from tipstaff.healing.contracts import Wanted, compare
    from tipstaff.healing.pins.baseline import others, read_baseline
    from tipstaff.healing.pins.canaries import renewed

    new = found.snapshot
    with Engine.open(str(project.root), say=say) as engine:
        beside = list(others(project.root, new.server_id, each=True))
        old = None if path else read_baseline(project.root, new.server_id).relied_on()
        if old is not None:
            new = renewed(old, new)
        graded = compare(engine, old, new, Wanted("error"), beside)
        if path is None and graded.diff.old_digest != new.digest:
            Candidates(project.state).keep(new, engine.actor)
        return new, graded


def _written(new: Snapshot, graded: Graded, path: Path | None) -> str | None:
    if path is None or any(one.kind == "name_duplicate" for one in graded.diff.findings):
        return None
    pins.write(path, new)
    return str(path)
