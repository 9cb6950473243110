"""`tipstaff policy docs`: the reference of a policy, written from the annotations of its rules."""

from __future__ import annotations

from pathlib import Path

import click

from tipstaff.authoring.facts import Folder
from tipstaff.authoring.reference import FILE, reference
from tipstaff.cli.findings import say_findings
from tipstaff.cli.output import json_option, print_json, say
from tipstaff.cli.policy.folder import folder_argument, overlay, root
from tipstaff.cli.writing import write_text
from tipstaff.documents.text import visible
from tipstaff.errors import ContractError
from tipstaff.pdp.opa import ensure
from tipstaff.pdp.source import POLICY_FILES
from tipstaff.project import find_root


@click.command()
@folder_argument
@click.option("--check", is_flag=True, help="Write nothing; exit 1 where the file is out of date.")
@click.option(
    "--out",
    type=click.Path(dir_okay=False, path_type=Path),
    help="File to write; else README.md in the folder.",
)
@json_option
def docs(folder: Path | None, check: bool, out: Path | None, as_json: bool) -> int:
    """Write the reference of the folder from its annotations.

    Exits 0 when the file is current or was written, 1 when --check finds it out of date, 2 when the Rego does not
    compile.
    """
    folder = (folder or overlay()).absolute()
    file = (out or folder / FILE).absolute()
    if file.suffix in POLICY_FILES:
        raise ContractError(
            "file.unwritable",
            "a reference is no policy",
            file=str(file),
            field="--out",
            fix="name a .md file",
        )
    opa, name = ensure(say), root(folder)
    text = reference(opa, folder, name, beside=file.parent)
    current = file.is_file() and file.read_bytes() == text.encode()
    if not current and not check:
        write_text(file, text)
    if as_json:
        print_json({"file": str(file), "current": current, "written": not current and not check})
    elif current:
        click.echo(f"{visible(str(file))} is current")
    elif check:
        click.echo(f"{visible(str(file))} is out of date; run `tipstaff policy docs`")
    else:
        click.echo(f"wrote {visible(str(file))}")
    if not check:
        say_findings(opa, Folder(folder, name, find_root(folder)))
    return 1 if check and not current else 0
