"""`tipstaff policy rollback` and `accept`: a person brings an earlier bundle back, or says where to begin anew."""

from __future__ import annotations

from pathlib import Path

import click

from tipstaff.cli.output import exit_code, json_option, print_json, print_verdict, say
from tipstaff.cli.policy.bundles import key_option, signing_key
from tipstaff.cli.policy.expires import expires_option
from tipstaff.documents.audit import Entry
from tipstaff.documents.base import Json
from tipstaff.documents.input import control
from tipstaff.documents.text import visible
from tipstaff.documents.verdict import Verdict
from tipstaff.engine import Engine
from tipstaff.ledger.clock import Clock
from tipstaff.ledger.trail import NewRecord
from tipstaff.pdp.bundle import OVERLAY
from tipstaff.pdp.issuing import Issuer
from tipstaff.pdp.kept import find
from tipstaff.pdp.marks import Marks
from tipstaff.pdp.opa import ensure
from tipstaff.project import prepare, timestamp


@click.command()
@click.argument("revision")
@click.option("--reason", default="", help="Why; kept in the trail.")
@expires_option
@key_option
@json_option
def rollback(
    revision: str, reason: str, expires_at: str | None, key: Path | None, as_json: bool
) -> int:
    """Bring the content of an earlier bundle back, under the next number.

    REVISION is a revision of the overlay, or its number as r41. Only a person may. The policy folder itself is not
    changed. Exits 1 when policy refuses.
    """
    with Engine.open(say=say) as engine:
        state = prepare(engine.project.state)
        earlier = find(state, OVERLAY, revision)
        folder = engine.policy.overlay_folder()
        issuer = Issuer(ensure(say), folder, OVERLAY, signing_key(key), state)
        active = engine.policy.revisions()[OVERLAY]
        act = control("policy rollback", f"bundle:{earlier.revision}", subject=engine.actor.id)
        verdict = engine.decide(act)
        if not verdict.is_allowed:
            return _refused(verdict, as_json)
        engine.redeem(verdict)
        bundle = issuer.reissue(earlier, expires_at)
        detail: Json = {
            "from": active,
            "to": bundle.revision,
            "reissues": bundle.reissues,
            "reason": visible(reason),
        }
        _record(engine, "policy-rollback", f"bundle:{bundle.revision}", detail, verdict)
    if as_json:
        print_json(
            {
                "file": str(bundle.file),
                "revision": bundle.revision,
                "sequence": bundle.sequence,
                **detail,
            }
        )
    else:
        click.echo(
            f"wrote {visible(str(bundle.file))}, revision {bundle.revision}: it reissues {bundle.reissues}"
        )
    say(
        f"note: {folder.name}/ still holds what it held, and the next `tipstaff policy sign` issues that"
    )
    say(
        f"to bring the source back, too: `git log -- {folder.name}`, `git checkout COMMIT -- {folder.name}`"
    )
    return 0


@click.command()
@click.option("--reason", required=True, help="Why; kept in the trail.")
@json_option
def accept(reason: str, as_json: bool) -> int:
    """Begin from the bundles and the clock as they are now, where it is lost or wrong what came before.

    Only a person may. Signatures must hold all the same. Exits 1 when policy refuses.
    """
    with Engine.open(say=say) as engine:
        engine.policy.holds_marks = False
        bundles = engine.policy.bundles()
        names = ", ".join(bundle.revision for bundle in bundles)
        act = control("policy accept", f"bundles:{names}"[:200], subject=engine.actor.id)
        [verdict] = engine.evaluate([act])
        if not verdict.is_allowed:
            return _refused(verdict, as_json)
        detail: Json = {
            "bundles": {bundle.name: bundle.revision for bundle in bundles},
            "reason": visible(reason),
        }
        _record(engine, "policy-accept", "bundles", detail, verdict)
        state = prepare(engine.project.state)
        Marks(state).reset(bundles)
        Clock(state).reset(timestamp())
    if as_json:
        print_json(detail)
    else:
        click.echo(f"accepted {names}")
    return 0


def _record(engine: Engine, entry: Entry, target: str, detail: Json, verdict: Verdict) -> None:
    engine.trail.append(
        NewRecord(
            decision=entry,
            target=target,
            detail=detail,
            actor=engine.actor,
            decision_id=verdict.decision_id,
            bundle_revision=verdict.policy.revision,
        )
    )


def _refused(verdict: Verdict, as_json: bool) -> int:
    if as_json:
        print_json(verdict.model_dump(by_alias=True))
    else:
        print_verdict(verdict)
    return exit_code(verdict)
