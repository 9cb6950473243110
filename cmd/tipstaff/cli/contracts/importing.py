"""`tipstaff contracts import`: a capture made elsewhere becomes a snapshot."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import click

from tipstaff.cli.completion import files
from tipstaff.cli.contracts.shown import show_lines
from tipstaff.cli.output import json_option, print_json, say
from tipstaff.documents.capture import from_capture
from tipstaff.documents.contract import SUFFIX, Snapshot, read_json, read_snapshot, text
from tipstaff.documents.text import visible
from tipstaff.errors import ContractError
from tipstaff.files import write_atomically
from tipstaff.project import find_root, timestamp

FOLDER = "contracts"


@click.command("import")
@click.argument("capture", metavar="CAPTURE.json", shell_complete=files)
@click.option("--name", required=True, help="The server's name, and the file's.")
@click.option("--out", metavar="FILE", help="Where to write; else NAME.mcpc.json in contracts/.")
@json_option
def import_(capture: str, name: str, out: str | None, as_json: bool) -> int:
    """Make a snapshot of a capture made elsewhere.

    The capture is one object with MCP's own members, of which tools must be there, or a whole tools/list result. An
    existing snapshot is not overwritten: what is committed moves by a person only.

    Exits 0 when the snapshot is written and shows nothing to fail on, 1 when it shows hidden text or names that
    deceive, 2 for what is no capture.
    """
    from tipstaff.engine import Engine
    from tipstaff.healing.contracts import Wanted, look

    target = _target(name, out)
    found = from_capture(read_json(Path(capture)), name, timestamp(), file=capture)
    with Engine.open(say=say) as engine:
        graded = look(engine, found, list(_others(target, name)), Wanted("error"))
    twice = any(one.kind == "name_duplicate" for one in graded.diff.findings)
    if not twice:
        _write(target, found)
    written = None if twice else str(target)
    if as_json:
        print_json({"file": written, "digest": found.digest, "diff": graded.diff.model_dump()})
    else:
        if graded.diff.findings:
            show_lines(graded.diff)
        counted = f"{len(found.tools)} tools, {len(found.prompts)} prompts, {len(found.resources)} resources"
        click.echo(visible(f"{written or 'nothing written'}: {counted}, digest {found.digest}"))
    return 1 if graded.fails else 0


def _target(name: str, out: str | None) -> Path:
    """Where the snapshot goes; in the project's folder of contracts nothing is overwritten."""
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}", name):
        raise click.BadParameter(
            "a name has letters, digits, dots, dashes and underscores only", param_hint="--name"
        )
    folder = find_root(Path()) / FOLDER
    target = Path(out) if out else folder / f"{name}{SUFFIX}"
    if target.exists() and target.resolve().parent == folder.resolve():
        raise ContractError(
            "contract.exists",
            "the snapshot is there already",
            file=str(target),
            fix="write elsewhere with --out, look at `tipstaff contracts diff`, and let a person move the pin",
        )
    return target


def _others(target: Path, name: str) -> Iterator[Snapshot]:
    """The committed snapshots of other servers, in whose names this one's could hide."""
    for path in sorted((find_root(Path()) / FOLDER).glob(f"*{SUFFIX}")):
        if path != target and path.name != f"{name}{SUFFIX}":
            yield read_snapshot(path)


def _write(target: Path, found: Snapshot) -> None:
    try:
        write_atomically(target, text(found).encode(), mode=0o644)
    except OSError as error:
        raise ContractError(
            "file.unwritable",
            error.strerror or str(error),
            file=str(target),
            fix="name a file in a folder that can be written",
        ) from error
