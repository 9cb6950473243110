"""`tipstaff check`: what is wrong with the configuration, before a change meets it."""

from __future__ import annotations

import click

from tipstaff.cli.output import json_option, print_json, print_reasons, say
from tipstaff.cli.tiers import ask_about_classes
from tipstaff.documents.verdict import Reason
from tipstaff.engine import Engine
from tipstaff.pdp.bundle import overlay_is_current


@click.command()
@json_option
def check(as_json: bool) -> int:
    """Lint the configuration.

    That is tipstaff.yaml, tipstaff.local.yaml and the overlay.

    Exits 0 when nothing is wrong, 1 with findings, 2 when a file cannot be read as what it is.
    """
    with Engine.open(say=say) as engine:
        found = {
            (advice.code, advice.message): advice
            for verdict in ask_about_classes(engine)
            for advice in verdict.advice
        }
        findings = [*found.values(), *overlay_findings(engine)]
    if as_json:
        print_json({"findings": [finding.model_dump() for finding in findings]})
    elif findings:
        print_reasons(findings)
    else:
        click.echo("configuration is in order")
    return 1 if findings else 0


def overlay_findings(engine: Engine) -> list[Reason]:
    """What is wrong with the overlay that decisions would not show: edited Rego that nobody has signed."""
    folder = engine.policy.overlay_folder()
    if not engine.project.team_setting("policy", "public_key") or overlay_is_current(folder):
        return []
    return [
        Reason(
            code="overlay.not_signed",
            message="the overlay's Rego differs from its signed bundle, and decisions use the bundle",
            rule="tipstaff.cli.check",
            solution="run `tipstaff policy sign` and commit the bundle that it writes",
        )
    ]
