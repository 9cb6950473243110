"""`tipstaff explain`: a decision as the trail holds it."""

from __future__ import annotations

import json

import click

from tipstaff.cli.output import json_option, print_json, print_reasons
from tipstaff.documents.audit import Explanation
from tipstaff.documents.base import Json, parse
from tipstaff.documents.text import visible
from tipstaff.engine.engine import witness_folder
from tipstaff.ledger.trail import Trail
from tipstaff.project import Project


@click.command()
@click.argument("decision_id")
@json_option
def explain(decision_id: str, as_json: bool) -> int:
    """Show why a decision came out as it did.

    That is: the rules that fired, the facts they used, the revision, and what would change the answer.

    Text that came from outside is escaped and stands under its own heading.
    """
    with Trail(Project.find().state, witness=witness_folder()) as trail:
        record = trail.find(decision_id)
    explanation = parse(Explanation, record.detail)
    if as_json:
        print_json(record.model_dump(by_alias=True))
        return 0
    verdict = explanation.outcome
    click.echo(f"{verdict.effect}  {record.target}  at {record.at}  by {record.actor.id}")
    click.echo(f"policy {verdict.policy.revision}, OPA {verdict.policy.opa_version}")
    click.echo("why:")
    print_reasons(verdict.reasons)
    click.echo("rules:")
    for rule in verdict.matched_rules:
        click.echo(f"  {visible(rule)}")
    click.echo("derived facts:")
    _print_facts(verdict.facts)
    click.echo("facts from outside (untrusted):")
    _print_facts({"event": explanation.event, "evidence": explanation.evidence})
    return 0


def _print_facts(facts: Json) -> None:
    for name, value in sorted(facts.items()):
        text = json.dumps(value, ensure_ascii=True, sort_keys=True)
        click.echo(f"  {visible(name)}: {visible(text)}")
