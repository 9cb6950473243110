"""`tipstaff policy`: the real opa on a policy folder, ours or a team's overlay."""

from __future__ import annotations

import json
from pathlib import Path

import click

from tipstaff import declared
from tipstaff.cli.output import json_option, print_json, say
from tipstaff.cli.program import SuggestingGroup
from tipstaff.documents.base import Json
from tipstaff.documents.text import visible
from tipstaff.engine.policy import OVERLAY_FOLDER
from tipstaff.errors import ContractError
from tipstaff.pdp.bundle import Bundle, overlay_file
from tipstaff.pdp.bundle import build as build_bundle
from tipstaff.pdp.opa import Opa, ensure
from tipstaff.project import Project

_FOLDER = click.argument(
    "folder", required=False, type=click.Path(exists=True, file_okay=False, path_type=Path)
)
_KEY = click.option(
    "--key",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Private key, PEM; else the team's, in the state folder.",
)


@click.group(cls=SuggestingGroup)
def policy() -> None:
    """Test, build and sign policy.

    That is the team's overlay, if no folder is named.
    """


@policy.command()
@_FOLDER
@json_option
def test(folder: Path | None, as_json: bool) -> int:
    """Run `opa test` on the folder; an overlay's tests see Tipstaff's own packages.

    Exits 0 when all tests pass, 1 when one fails, 2 when the Rego does not compile or there is no test.
    """
    folder = folder or _overlay()
    name, opa = _root(folder), ensure(say)
    arguments = ["test", str(folder), "--format", "json", "--schema", _schemas()]
    if name != "tipstaff":
        arguments += [str(declared.folder("policy")), "--run", rf"^data\.{name}\."]
    answer = opa.run(arguments)
    results = _results(answer.stdout, answer.stderr, folder)
    failed = [result for result in results if result.get("fail") or result.get("error")]
    rows = [
        {
            "package": result["package"],
            "name": result["name"],
            "passed": result not in failed,
            "file": result["location"]["file"],
            "line": result["location"]["row"],
        }
        for result in results
    ]
    if as_json:
        print_json({"passed": len(rows) - len(failed), "failed": len(failed), "tests": rows})
    for row in () if as_json else rows:
        if not row["passed"]:
            click.echo(f"{row['file']}:{row['line']}: {row['package']}.{row['name']} failed")
    if not as_json:
        click.echo(f"{len(rows) - len(failed)} passed, {len(failed)} failed")
    return 1 if failed else 0


@policy.command()
@_FOLDER
@click.option(
    "--out",
    type=click.Path(dir_okay=False, path_type=Path),
    required=True,
    help="Bundle file to write.",
)
@click.option(
    "--key",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Private key, PEM; else the team's, in the state folder.",
)
@json_option
def build(folder: Path | None, out: Path, key: Path | None, as_json: bool) -> int:
    """Compile the folder with the reduced capabilities into a signed bundle file."""
    folder = folder or _overlay()
    return _report(_build(folder, out, key), as_json)


@policy.command()
@_FOLDER
@click.option(
    "--key",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Private key, PEM; else the team's, in the state folder.",
)
@json_option
def sign(folder: Path | None, key: Path | None, as_json: bool) -> int:
    """Build the overlay and put its signed bundle beside it, where decisions look for it."""
    folder = folder or _overlay()
    return _report(_build(folder, overlay_file(folder.absolute()), key), as_json)


def team_key(state: Path) -> Path:
    """Where a project keeps the private key that signs its overlay."""
    return state / "keys" / "team.pem"


def _build(folder: Path, out: Path, key: Path | None) -> Bundle:
    key = key or team_key(Project.find().state)
    if not key.exists():
        raise ContractError(
            "key.missing",
            "there is no private key to sign with",
            file=str(key),
            fix="run `tipstaff init` to make one, or name one with --key",
        )
    opa: Opa = ensure(say)
    return build_bundle(opa, folder, name=_root(folder), key=key, out=out)


def _report(bundle: Bundle, as_json: bool) -> int:
    if as_json:
        print_json(
            {
                "file": str(bundle.file),
                "revision": bundle.revision,
                "data_digest": bundle.data_digest,
            }
        )
    else:
        click.echo(f"wrote {visible(str(bundle.file))}, revision {bundle.revision}")
    return 0


def _overlay() -> Path:
    project = Project.find()
    folder = project.root / (project.team_setting("policy", "overlay") or OVERLAY_FOLDER)
    if not folder.is_dir():
        raise ContractError(
            "policy.none",
            "no such policy folder",
            file=str(folder),
            fix="run `tipstaff init`, or name the folder",
        )
    return folder


def _root(folder: Path) -> str:
    """The one root that the folder's manifest claims; it is the bundle's name."""
    manifest = folder / ".manifest"
    try:
        roots = json.loads(manifest.read_text(encoding="utf-8"))["roots"]
        [name] = roots
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ContractError(
            "policy.manifest",
            "the manifest does not name exactly one root",
            file=str(manifest),
            fix='write {"roots": ["org"]}',
        ) from error
    return str(name)


def _schemas() -> str:
    return str(declared.folder("contracts"))


def _results(stdout: bytes, stderr: bytes, folder: Path) -> list[Json]:
    try:
        results = json.loads(stdout or b"[]")
    except ValueError:
        results = None
    if not isinstance(results, list) or not results:
        message = " ".join((stderr or stdout).decode(errors="replace").split())
        raise ContractError(
            "policy.invalid",
            message or "there is no test",
            file=str(folder),
            fix="correct the Rego at the named line, or add a test",
        )
    return results
