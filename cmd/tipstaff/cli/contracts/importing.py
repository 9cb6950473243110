"""`tipstaff contracts import`: a capture made elsewhere becomes a snapshot."""

from __future__ import annotations

from pathlib import Path

import click

from tipstaff.cli.completion import files
from tipstaff.cli.contracts import pins
from tipstaff.cli.contracts.shown import show_lines
from tipstaff.cli.output import json_option, print_json, say
from tipstaff.documents.capture import from_capture
from tipstaff.documents.contract import read_json
from tipstaff.documents.text import visible
from tipstaff.project import timestamp


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
    from tipstaff.healing.contracts import Wanted, compare
    from tipstaff.healing.pins.baseline import others

    target = pins.target(name, out)
    found = from_capture(read_json(Path(capture)), name, timestamp(), file=capture)
    with Engine.open(say=say) as engine:
        beside = others(engine.project.root, name, each=True)
        graded = compare(engine, None, found, Wanted("error"), list(beside))
    twice = any(one.kind == "name_duplicate" for one in graded.diff.findings)
    if not twice:
        pins.write(target, found)
    written = None if twice else str(target)
    if as_json:
        print_json({"file": written, "digest": found.digest, "diff": graded.diff.model_dump()})
    else:
        if graded.diff.findings:
            show_lines(graded.diff)
        click.echo(visible(f"{written or 'nothing written'}: {pins.counted(found)}"))
    return 1 if graded.fails else 0
