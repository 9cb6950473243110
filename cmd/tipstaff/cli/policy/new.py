"""`tipstaff policy new`: a rule with its test, its metadata and an example, to be edited."""

from __future__ import annotations

import json
import re
from pathlib import Path

import click

from tipstaff import declared
from tipstaff.cli.output import json_option, print_json, say
from tipstaff.cli.policy.folder import overlay, root
from tipstaff.cli.writing import demand_absent, demand_file, write_text
from tipstaff.errors import ContractError

_TEMPLATE = Path(__file__).parents[2] / "starter" / "rule"
_EXAMPLE = "change-allow.input.json"
_NAME = re.compile(r"[a-z][a-z0-9_]{0,40}\Z")
# Words that Rego keeps, and `bundle`, which the build writes the overlay's revision to.
_TAKEN = frozenset(
    "as bundle contains data default else every false if import in input not null package some true with".split()
)


@click.command()
@click.argument("name")
@click.option(
    "--kind",
    type=click.Choice(["deny", "escalate", "require_approval"]),
    default="require_approval",
    show_default=True,
    help="What the rule asks for.",
)
@click.option("--force", is_flag=True, help="Overwrite files that are there.")
@json_option
def new(name: str, kind: str, force: bool, as_json: bool) -> int:
    """Write a rule with its test, metadata and example into the overlay.

    The package is org.NAME; its example input lies beside the overlay, in policy-examples/, so that OPA does not take
    it for data. `tipstaff decide` asks about it in the context of now; its own is made up, so that `--replay`, which
    wants a recorded one, denies. An existing file is never overwritten without --force; then nothing at all is written.
    """
    _demand_name(name)
    folder = overlay()
    root(folder)
    files = _files(folder, name, kind)
    for file in files:
        demand_file(file)
        if file.parent.is_symlink():
            raise ContractError(
                "file.unwritable",
                "the folder is a symbolic link to another place",
                file=str(file.parent),
                fix="put a folder of the project there",
            )
    demand_absent(
        folder.parent, files, code="policy.exists", otherwise="choose another name", force=force
    )
    for file, text in files.items():
        write_text(file, text)
    written = [file.relative_to(folder.parent).as_posix() for file in files]
    if as_json:
        print_json({"package": f"org.{name}", "written": written})
        return 0
    for line in written:
        click.echo(f"wrote {line}")
    say("next: edit the rule and its test, then `tipstaff policy docs`, `test`, `check` and `sign`")
    say(f"once signed, `tipstaff decide {written[-1]}` asks the engine about the example")
    return 0


def _files(folder: Path, name: str, kind: str) -> dict[Path, str]:
    package = folder / "org" / name
    rego = {
        package / template.name.replace("NAME", name): template.read_text(encoding="utf-8")
        .replace("NAME", name)
        .replace("KIND", kind)
        for template in sorted(_TEMPLATE.glob("*.rego"))
    }
    source = declared.folder("contracts") / "examples" / _EXAMPLE
    example = json.loads(source.read_text(encoding="utf-8"))
    example["resource"]["files"][0]["path"] = f"{name}/notes.md"
    shown = folder.with_name(f"{folder.name}-examples") / f"{name}.input.json"
    return {**rego, shown: json.dumps(example, indent=2) + "\n"}


def _demand_name(name: str) -> None:
    if _NAME.match(name) and name not in _TAKEN and not name.endswith("_test"):
        return
    raise ContractError(
        "policy.name",
        f"{name[:60]!r} cannot be the name of a package",
        field="NAME",
        fix="use lower-case letters, digits and _, beginning with a letter, and no word of Rego's",
    )
