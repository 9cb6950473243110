"""`tipstaff policy build` and `sign`: signed bundles."""

from __future__ import annotations

from pathlib import Path

import click

from tipstaff.cli.findings import say_findings
from tipstaff.cli.output import json_option, print_json, say
from tipstaff.cli.policy.expires import expires_option
from tipstaff.cli.policy.folder import folder_argument, overlay, root
from tipstaff.cli.writing import writing
from tipstaff.documents.base import Json
from tipstaff.documents.text import visible
from tipstaff.engine.policy import Policy
from tipstaff.errors import ContractError
from tipstaff.pdp import threshold
from tipstaff.pdp.bundle import Bundle, Issue, claims, overlay_file, public_key
from tipstaff.pdp.bundle import build as build_bundle
from tipstaff.pdp.identity import LARGEST
from tipstaff.pdp.issuing import Issuer
from tipstaff.pdp.opa import ensure
from tipstaff.project import Project, find_root, prepare

key_option = click.option(
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
@click.option(
    "--oci",
    type=click.Path(file_okay=False, path_type=Path),
    help="Also write an OCI image layout with the bundle in it.",
)
@click.option(
    "--sequence",
    type=click.IntRange(0, LARGEST),
    default=0,
    show_default=True,
    help="The bundle's number; it must grow.",
)
@expires_option
@key_option
@json_option
def build(  # noqa: PLR0913 (one parameter for each option)
    folder: Path | None,
    out: Path,
    oci: Path | None,
    sequence: int,
    expires_at: str | None,
    key: Path | None,
    as_json: bool,
) -> int:
    """Compile the folder with the reduced capabilities into a signed bundle file."""
    folder = folder or overlay()
    name, key = root(folder), signing_key(key)
    with writing(out):
        bundle = build_bundle(
            ensure(say), folder, name=name, key=key, out=out, as_issue=Issue(sequence, expires_at)
        )
    more: Json = {}
    if oci:
        from tipstaff.pdp.oci import write_layout

        more = {"oci": str(oci), "image": write_layout(oci, bundle)}
    return report(bundle, as_json, more)


@click.command()
@folder_argument
@expires_option
@click.option("--add", is_flag=True, help="Add another person's signature to the bundle there.")
@key_option
@json_option
def sign(
    folder: Path | None, expires_at: str | None, add: bool, key: Path | None, as_json: bool
) -> int:
    """Build the overlay and put its signed bundle beside it, where decisions look for it.

    It gets the next number, unless the bundle there holds the same. With --add nothing is built: the key signs the
    bundle that lies there, besides those that have.
    """
    folder = (folder or overlay()).absolute()
    if add:
        return _add(folder, key, as_json)
    project = Project.find()
    opa, name = ensure(say), root(folder)
    issuer = Issuer(opa, folder, name, signing_key(key), prepare(project.state))
    bundle, is_new = issuer.sign(expires_at)
    if not is_new and not as_json:
        say("note: the bundle there holds just this, so it stays")
    wanted = Policy(project, say).signers().threshold
    if wanted > 1 and is_new:
        say(f"note: {wanted} must sign it; others run `tipstaff policy sign --add --key FILE`")
    if is_new and not as_json:
        from tipstaff.authoring.facts import Folder

        say_findings(opa, Folder(folder, name, find_root(folder)))
    return report(bundle, as_json, {"is_new": is_new})


def team_key(state: Path) -> Path:
    """Where a project keeps the private key that signs its overlay."""
    return state / "keys" / "team.pem"


def signing_key(key: Path | None) -> Path:
    """The key that was named, else the team's; raises ``ContractError`` (``key.missing``)."""
    key = key or team_key(Project.find().state)
    if not key.exists():
        raise ContractError(
            "key.missing",
            "there is no private key to sign with",
            file=str(key),
            fix="run `tipstaff init` to make one, or name one with --key",
        )
    return key


def report(bundle: Bundle, as_json: bool, more: Json) -> int:
    """Print what was written, or lies there."""
    if as_json:
        facts = ("revision", "data_digest", "source_digest", "sequence", "expires_at", "reissues")
        said = {name: getattr(bundle, name) for name in facts}
        print_json({"file": str(bundle.file), **said, **more})
        return 0
    end = f", until {bundle.expires_at}" if bundle.expires_at else ""
    verb = "wrote" if more.get("is_new", True) else "kept"
    click.echo(f"{verb} {visible(str(bundle.file))}, revision {bundle.revision}{end}")
    if "oci" in more:
        click.echo(f"wrote {visible(str(more['oci']))}, image {more['image']}")
    return 0


def _add(folder: Path, key: Path | None, as_json: bool) -> int:
    policy = Policy(Project.find(), say)
    public = policy.public_key() or public_key(signing_key(None))
    name, file = root(folder), overlay_file(folder)
    if not claims(file, name):
        raise ContractError(
            "file.unreadable",
            "there is no bundle to sign",
            file=str(file),
            fix="run `tipstaff policy sign`",
        )
    with writing(threshold.signatures_file(file)):
        count = threshold.add(file, name, signing_key(key), public, policy.signers())
    wanted = policy.signers().threshold
    if as_json:
        print_json(
            {"file": str(threshold.signatures_file(file)), "signatures": count, "threshold": wanted}
        )
    else:
        click.echo(f"{count} have signed {visible(str(file))}; {wanted} must")
    return 0
