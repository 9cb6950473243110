"""`tipstaff check`: what is wrong with the configuration, before a change meets it."""

from __future__ import annotations

from datetime import datetime

import click

from tipstaff.authoring.judging import judge
from tipstaff.cli.findings import check_options, demand_one_form, show
from tipstaff.cli.output import say
from tipstaff.cli.tiers import ask_about_classes
from tipstaff.documents.verdict import Reason
from tipstaff.engine import Engine
from tipstaff.pdp.bundle import overlay_file, overlay_is_current
from tipstaff.pdp.opa import ensure


@click.command()
@check_options
def check(now: datetime | None, as_json: bool, as_sarif: bool) -> int:
    """Lint the configuration.

    That is tipstaff.yaml, tipstaff.local.yaml and the overlay. Findings that waivers.yaml sets aside stay visible.

    Exits 0 when nothing is wrong, 1 with findings, 2 when a file cannot be read as what it is.
    """
    demand_one_form(as_json, as_sarif)
    with Engine.open(say=say) as engine:
        found = {
            (advice.code, advice.message): advice
            for verdict in ask_about_classes(engine)
            for advice in verdict.advice
        }
        findings = [*found.values(), *overlay_findings(engine)]
        reasons = [reason.model_dump() for reason in findings]
        report = judge(ensure(say), "configuration", reasons, engine.project.root, now=now)
    return show(report, as_json=as_json, as_sarif=as_sarif, clean="configuration is in order")


def overlay_findings(engine: Engine) -> list[Reason]:
    """What is wrong with the overlay that decisions would not show: rules that none of them uses."""
    folder = engine.policy.overlay_folder()
    if not engine.project.team_setting("policy", "public_key"):
        if not overlay_file(folder).exists():
            return []
        return [
            Reason(
                code="overlay.no_key",
                message="a signed overlay is there, and every decision is denied: no key says who may sign it",
                rule="tipstaff.cli.check",
                solution="give policy.public_key in tipstaff.yaml, as `tipstaff init` wrote it, or remove the bundle",
            )
        ]
    if overlay_is_current(folder):
        return []
    return [
        Reason(
            code="overlay.not_signed",
            message="the overlay's Rego differs from its signed bundle, and decisions use the bundle",
            rule="tipstaff.cli.check",
            solution="run `tipstaff policy sign` and commit the bundle that it writes",
        )
    ]
