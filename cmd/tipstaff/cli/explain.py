"""`tipstaff explain`: a decision as the trail holds it, and what would alter it."""

from __future__ import annotations

import json
from collections.abc import Sequence

import click

from tipstaff.cli.output import json_option, print_json, print_reasons, say
from tipstaff.documents.audit import Explanation
from tipstaff.documents.base import Json, parse
from tipstaff.documents.text import visible
from tipstaff.documents.verdict import Verdict
from tipstaff.errors import ContractError, DecisionError
from tipstaff.ledger.trail import Trail
from tipstaff.pdp.places import witness_folder
from tipstaff.project import Project


@click.command()
@click.argument("decision_id")
@click.option(
    "--what-if",
    "changes",
    multiple=True,
    metavar="FACT=VALUE",
    help="Ask again with a fact of the document changed, as evidence.tests.failed=0; may be repeated.",
)
@json_option
def explain(decision_id: str, changes: tuple[str, ...], as_json: bool) -> int:
    """Show why a decision came out as it did.

    That is: the rules that fired, the facts they used, the revision, and what would change the answer, found by asking
    the current policy. DECISION_ID may be cut to its first characters, eight at least.

    Text that came from outside is escaped and stands under its own heading. A changed question is not recorded, and
    nothing can be carried out on its answer.
    """
    project = Project.find()
    with Trail(project.state, witness=witness_folder()) as trail:
        record = trail.find(decision_id)
    explanation = parse(Explanation, record.detail)
    altered = _what_if(project, explanation, changes) if changes else None
    would_alter = None if changes else _would_alter(project, explanation)
    if as_json:
        plain = record.model_dump(by_alias=True)
        print_json({**plain, "would_alter": would_alter, "what_if": altered})
        return 0
    if altered:
        _print_what_if(altered)
        return 0
    verdict = explanation.outcome
    click.echo(f"{verdict.effect}  {record.target}  at {record.at}  by {record.actor.id}")
    overlay = explanation.preferences["bundles"]["org"]
    policy = " and ".join(visible(one) for one in (verdict.policy.revision, overlay) if one)
    click.echo(f"policy {policy}, OPA {verdict.policy.opa_version}")
    click.echo("why:")
    print_reasons(verdict.reasons)
    if would_alter:
        _print_would_alter(would_alter, verdict)
    click.echo("rules:")
    for rule in verdict.matched_rules:
        click.echo(f"  {visible(rule)}")
    click.echo("derived facts:")
    _print_facts(verdict.facts)
    click.echo("facts from outside (untrusted):")
    _print_facts({"event": explanation.event, "evidence": explanation.evidence})
    return 0


def _would_alter(project: Project, explanation: Explanation) -> Json | None:
    """What the current policy says would alter the verdict; None, with a note, where it cannot be asked."""
    from tipstaff.authoring.corpus import document_of
    from tipstaff.authoring.what_if import alternatives, asked_now, current_rules

    try:
        rules = current_rules(project, say)
        return alternatives(rules, asked_now(rules, document_of(explanation)))
    except (ContractError, DecisionError) as error:
        say(f"note: what would alter it cannot be told: {error} [{error.code}]")
        say(f"fix: {error.fix}")
        return None


def _what_if(project: Project, explanation: Explanation, changes: Sequence[str]) -> Json:
    from tipstaff.authoring.corpus import document_of
    from tipstaff.authoring.what_if import current_rules, what_if

    document = document_of(explanation)
    rules = current_rules(project, say)
    before, after, done = what_if(rules, document, changes)
    return {
        "changes": done,
        "recorded": _brief(explanation.outcome),
        "now": _brief(before),
        "then": _brief(after),
        "went": [code for code in before.codes if code not in after.codes],
        "came": [code for code in after.codes if code not in before.codes],
    }


def _brief(verdict: Verdict) -> Json:
    return {
        "effect": verdict.effect,
        "codes": verdict.codes,
        "revision": verdict.policy.revision,
    }


def _print_what_if(altered: Json) -> None:
    recorded, now, then = altered["recorded"], altered["now"], altered["then"]
    for change in altered["changes"]:
        click.echo(f"{visible(change['fact'])}: {_text(change['was'])} -> {_text(change['value'])}")
    click.echo(f"{now['effect']} -> {then['effect']}  policy {visible(now['revision'])}")
    for name, codes in (("gone", altered["went"]), ("new", altered["came"])):
        click.echo(f"  {name}: {visible(', '.join(codes)) or 'nothing'}")
    if (recorded["effect"], recorded["codes"]) != (now["effect"], now["codes"]):
        click.echo(
            f"recorded was {recorded['effect']}, by policy {visible(recorded['revision'])}; "
            "the current one judges otherwise"
        )
    say("not recorded, and nothing can be carried out on it")


def _print_would_alter(report: Json, verdict: Verdict) -> None:
    click.echo("what would alter it:")
    for fact in report["facts"]:
        wanted, has = _text(fact["wanted"]), _text(fact["has"])
        click.echo(f"  {visible(fact['code'])}: {visible(fact['fact'])} needs {wanted}, has {has}")
    for one in report["alternatives"]:
        click.echo(f"  {visible(one['fact'])} = {_text(one['wanted'])}  gives {one['effect']}")
    if report["facts"] and not report["alternatives"]:
        click.echo(f"  none of these alone; all of them together give {report['together']}")
    if not report["facts"]:
        click.echo("  none of the facts that policy names; see the remedies above")
    if report["codes"] != verdict.codes:
        click.echo("  (the current policy gives other reasons than the recorded ones)")


def _print_facts(facts: Json) -> None:
    for name, value in sorted(facts.items()):
        click.echo(f"  {visible(name)}: {_text(value)}")


def _text(value: object) -> str:
    return visible(json.dumps(value, ensure_ascii=True, sort_keys=True))
