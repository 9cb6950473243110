"""`tipstaff governed-harness init`: a specification to start from."""

from __future__ import annotations

from pathlib import Path

import click

from tipstaff.cli.completion import files
from tipstaff.cli.output import json_option, print_json
from tipstaff.cli.writing import demand_absent, demand_room, write_text
from tipstaff.documents.text import visible

_STARTER = Path(__file__).parents[2] / "starter" / "governed"
_SCORES = {"governed-before.json": "before.json", "governed-after.json": "after.json"}


@click.command()
@click.option("--out", required=True, metavar="FILE", shell_complete=files, help="Where to write.")
@click.option("--demo", is_flag=True, help="Write one that promotes, with its scores.")
@click.option("--force", is_flag=True, help="Replace files that are there.")
@json_option
def init(out: str, demo: bool, force: bool, as_json: bool) -> int:
    """Write a specification to start from.

    With --demo the scores lie beside it, in governed-before.json and governed-after.json, and it promotes as it is;
    without, everything in capitals and every number is to be replaced.

    Exits 0 when everything is written, 2 where a file is there already or cannot be written, with nothing changed.
    """
    target = Path(out)
    wanted = {target: "demo.json" if demo else "skeleton.json"}
    if demo:
        wanted |= {target.parent / name: source for name, source in _SCORES.items()}
    otherwise = "name another file with --out"
    demand_absent(target.parent, wanted, code="file.exists", otherwise=otherwise, force=force)
    for path in wanted:
        demand_room(path)
    for path, source in wanted.items():
        write_text(path, (_STARTER / source).read_text(encoding="utf-8"))
    written = [str(path) for path in wanted]
    if as_json:
        print_json({"written": written})
    else:
        click.echo("\n".join(visible(f"wrote {path}") for path in written))
    return 0
