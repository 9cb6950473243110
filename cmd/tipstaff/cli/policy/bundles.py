"""`tipstaff policy build` and `sign`: signed bundles."""

from __future__ import annotations

from pathlib import Path

import click

from tipstaff.cli.output import json_option, print_json, say
from tipstaff.cli.policy.folder import folder_argument, overlay, root
from tipstaff.documents.text import visible
from tipstaff.errors import ContractError
from tipstaff.pdp.bundle import Bundle, overlay_file
from tipstaff.pdp.bundle import build as build_bundle
from tipstaff.pdp.opa import Opa, ensure
from tipstaff.project import Project

_key_option = click.option(
    "--key",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Private key, PEM; else the team's, in the state folder.",
)


@click.command()
@folder_argument
@click.option(
    "--out",
    type=click.Path(dir_okay=False, path_type=Path),
    required=True,
    help="Bundle file to write.",
)
@_key_option
@json_option
def build(folder: Path | None, out: Path, key: Path | None, as_json: bool) -> int:
    """Compile the folder with the reduced capabilities into a signed bundle file."""
    folder = folder or overlay()
    return _report(_build(folder, out, key), as_json)


@click.command()
@folder_argument
@_key_option
@json_option
def sign(folder: Path | None, key: Path | None, as_json: bool) -> int:
    """Build the overlay and put its signed bundle beside it, where decisions look for it."""
    folder = folder or overlay()
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
    return build_bundle(opa, folder, name=root(folder), key=key, out=out)


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
