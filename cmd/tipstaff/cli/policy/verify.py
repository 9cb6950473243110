"""`tipstaff policy verify`: a signed bundle, link by link."""

from __future__ import annotations

import json
from pathlib import Path

import click

from tipstaff.cli.output import json_option, print_json, say
from tipstaff.documents.text import visible
from tipstaff.engine.policy import Policy
from tipstaff.errors import ContractError, DecisionError, Error
from tipstaff.files import read_regular
from tipstaff.pdp import archive, bundle, signing
from tipstaff.pdp.bundle import OVERLAY, Bundle, overlay_file
from tipstaff.pdp.marks import Marks
from tipstaff.pdp.opa import ensure
from tipstaff.pdp.shipped import shipped
from tipstaff.project import Project, timestamp

_ENDED = "data.tipstaff.guard.ended"
_NOT_KNOWN = frozenset({"bundle.mark_lost", "opa.failed"})


@click.command()
@click.argument(
    "file", required=False, type=click.Path(exists=True, dir_okay=False, path_type=Path)
)
@json_option
def verify(file: Path | None, as_json: bool) -> int:
    """Check a signed bundle, link by link: what was reviewed, what was signed, what answers.

    FILE is the overlay's bundle if none is named. Checked are its form, its signature, how many keys signed, that it is
    not older than one accepted before, its end, that it was built of what the folder holds, and that the engine answers
    for it.

    Exits 1 when a link is broken, 3 when one could not be checked.
    """
    policy = Policy(Project.find(), say)
    if file is None:
        file = overlay_file(policy.overlay_folder())
        if not file.exists():
            raise ContractError(
                "file.unreadable",
                "there is no signed bundle",
                file=str(file),
                fix="run `tipstaff policy sign`, or name a file",
            )
    links = _links(file, policy)
    broken = [link for link in links if link["code"]]
    if as_json:
        print_json({"file": str(file), "is_sound": not broken, "links": links})
    else:
        for link in links:
            click.echo(
                f"{'FAIL' if link['code'] else 'ok  '}  {link['link']}: {visible(str(link['message']))}"
            )
            if link["code"]:
                click.echo(f"      {link['code']}; {visible(str(link['fix']))}")
    if any(link["code"] in _NOT_KNOWN for link in broken):
        return 3
    return 1 if broken else 0


def _links(file: Path, policy: Policy) -> list[dict[str, str | None]]:
    """The links in order; what rests on a broken signature is not asked."""
    try:
        data = read_regular(file.resolve(), limit=archive.MAX_BYTES)
        archive.unpack(data)
        form = _sound("form", "the one form that tipstaff writes")
    except (OSError, ValueError) as error:
        return [_broken("form", "bundle.signature", str(error), "restore the file, or sign again")]
    try:
        found = _signed(file, data, policy)
    except Error as error:
        return [form, _fault("signature", error)]
    links = [form, _sound("signature", f"{found.revision} by the team's key")]
    for name, look in (
        ("threshold", _threshold),
        ("mark", _mark),
        ("expiry", expiry),
        ("source", _source),
        ("active", _active),
    ):
        try:
            links.append(_sound(name, look(found, policy)))
        except Error as error:
            links.append(_fault(name, error))
    return links


def _signed(file: Path, data: bytes, policy: Policy) -> Bundle:
    public = policy.public_key()
    if not public:
        raise DecisionError(
            "bundle.unsigned",
            "no public key says who may sign it",
            file=str(file),
            field="policy.public_key",
            fix="put the team's public key into tipstaff.yaml",
        )
    signing.verify(data, public, file)
    return bundle.load(file.absolute(), OVERLAY, public)


def _threshold(found: Bundle, policy: Policy) -> str:
    signers = policy.signers()
    bundle.load(found.file, OVERLAY, found.public_key, signers)
    return f"{signers.threshold} of {1 + len(signers.public_keys)} keys had to sign, and did"


def _mark(found: Bundle, policy: Policy) -> str:
    marks = Marks(policy.project.state)
    marks.judge(found)
    return f"number {found.sequence}; the highest accepted here is {marks.highest(OVERLAY)}"


def expiry(found: Bundle, policy: Policy) -> str:
    """Asks the rule itself, about this bundle alone and the clock as it is."""
    opa = ensure(say)
    facts = {found.name: {"expires_at": found.expires_at}}
    given = json.dumps({"bundles": facts, "context": {"now": timestamp()}}).encode()
    reply = opa.evaluate(_ENDED, ["--bundle", str(shipped(opa, say).file)], given=given)
    if not reply.get("result"):
        said = visible(str(reply.get("errors", "undefined")))
        raise DecisionError(
            "opa.failed",
            f"whether it has ended could not be asked: {said}",
            fix="run `tipstaff doctor`",
        )
    reasons = reply["result"][0]["expressions"][0]["value"]
    for reason in reasons:
        raise DecisionError(
            reason["code"],
            f"{reason['message']} ({found.expires_at})",
            file=str(found.file),
            fix=reason["solution"],
        )
    return f"until {found.expires_at}" if found.expires_at else "without an end"


def _source(found: Bundle, policy: Policy) -> str:
    folder = policy.overlay_folder()
    digest = bundle.source_digest(folder, OVERLAY)
    if digest != found.source_digest:
        raise DecisionError(
            "overlay.not_signed",
            f"it was built of source {found.source_digest[:12]}, and the folder holds {digest[:12]}",
            file=str(folder),
            fix="run `tipstaff policy sign`, or bring the source back with git",
        )
    return f"built of what {folder.name}/ holds ({digest[:12]})"


def _active(found: Bundle, policy: Policy) -> str:
    expected = policy.revisions()[OVERLAY]
    if expected != found.revision:
        raise DecisionError(
            "bundle.not_active",
            f"decisions use {expected}",
            file=str(found.file),
            fix="put this bundle beside the policy folder, or verify the one that is there",
        )
    with policy.client() as client:
        client.check()
    return f"the engine answers for {found.revision}"


def _sound(link: str, message: str) -> dict[str, str | None]:
    return {"link": link, "code": None, "message": message, "fix": None}


def _broken(link: str, code: str, message: str, fix: str) -> dict[str, str | None]:
    return {"link": link, "code": code, "message": message, "fix": fix}


def _fault(link: str, error: Error) -> dict[str, str | None]:
    return _broken(link, error.code, str(error), error.fix)
