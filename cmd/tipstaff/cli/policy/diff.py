"""`tipstaff policy diff`: what an edit of the policy does to verdicts, before it ships."""

from __future__ import annotations

from pathlib import Path

import click

from tipstaff.authoring.corpus import Case
from tipstaff.cli.output import counted, json_option, print_json, say
from tipstaff.cli.policy.folder import folder_argument, overlay, root
from tipstaff.documents.base import Json
from tipstaff.documents.text import visible
from tipstaff.errors import ContractError
from tipstaff.pdp.opa import ensure

_SHOWN_CODES = 3
_SHOWN_FLIPS = 20


@click.command()
@folder_argument
@click.option("--base", "ref", required=True, metavar="REF", help="Commit to compare with.")
@click.option(
    "--corpus",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Folder with cases, *.input.json; else the shipped examples and their variations.",
)
@click.option("--from-audit", is_flag=True, help="Compare over the decisions in the audit trail.")
@click.option(
    "--acknowledge",
    "acknowledged",
    multiple=True,
    metavar="ID",
    help="A loosened verdict that is meant; besides those in the folder's acknowledged.yaml.",
)
@click.option("--summary", is_flag=True, help="Print the counts only.")
@json_option
def diff(  # noqa: PLR0913 (one parameter for each option)
    folder: Path | None,
    ref: str,
    corpus: Path | None,
    from_audit: bool,
    acknowledged: tuple[str, ...],
    summary: bool,
    as_json: bool,
) -> int:
    """Show which verdicts an edit of the policy loosens, tightens or changes.

    The folder in the working tree, the project's overlay if none is named, is compared with the same folder at REF,
    over the very same documents. Where tipstaff.yaml differs as well, each side judges under its own. Of each kind 20
    verdicts are shown; --json has them all.

    Exits 0 when nothing is loosened that nobody acknowledged, 1 otherwise, 2 when there is nothing to compare.
    """
    from tipstaff.authoring.comparison import committed_acknowledgements, compare
    from tipstaff.authoring.sides import Edit, both
    from tipstaff.evidence.repository import Repository

    folder = folder or overlay()
    repository = Repository.open(folder)
    commit = repository.resolve(ref)
    known = [*acknowledged, *committed_acknowledgements(folder)]
    cases = _cases(corpus, from_audit)
    edit = Edit(ensure(say), repository, folder, root(folder), commit, f"the base {ref}")
    with both(edit) as (base, head):
        report = compare(base, head, cases, known)
        sides = {
            "base": {"ref": ref, "commit": commit, "revision": base.revision},
            "head": {"ref": None, "commit": None, "revision": head.revision},
        }
        own_files = bool(head.team)
    outcome = report.pop("outcome")
    if outcome == "nothing_compared":
        raise _nothing(corpus)
    report = {**sides, **report, "approved": sum(case.is_approved for case in cases)}
    if as_json:
        print_json(report)
    else:
        _print(report, own_files, 0 if summary else _SHOWN_FLIPS)
    return 0 if outcome == "clean" else 1


def _cases(corpus: Path | None, from_audit: bool) -> list[Case]:
    from tipstaff.authoring.corpus import examples, from_folder, from_trail
    from tipstaff.ledger.trail import Trail
    from tipstaff.pdp.places import witness_folder
    from tipstaff.project import Project

    cases = from_folder(corpus) if corpus else []
    if corpus and not cases:
        raise _nothing(corpus)
    if from_audit:
        with Trail(Project.find().state, witness=witness_folder()) as trail:
            recorded = list(from_trail(trail))
        if not recorded:
            raise _nothing(trail.path)
        cases += recorded
    return cases if corpus or from_audit else examples()


def _nothing(place: Path | None) -> ContractError:
    return ContractError(
        "comparison.empty",
        "there is no case to compare, and agreement about nothing says nothing",
        file=str(place) if place else None,
        fix="name a folder with *.input.json, or leave --corpus and --from-audit out",
    )


def _print(report: Json, own_files: bool, shown: int) -> None:
    base, head = report["base"], report["head"]
    click.echo(f"base {visible(base['ref'])}  {base['commit'][:12]}  {visible(base['revision'])}")
    click.echo(f"head the working tree  {visible(head['revision'])}")
    if own_files:
        click.echo("tipstaff.yaml differs; each side judges under its own")
    for kind in ("loosened", "tightened", "changed"):
        flips = [flip for flip in report["flips"] if flip["class"] == kind]
        for flip in flips[:shown]:
            _print_flip(flip)
        if shown and len(flips) > shown:
            click.echo(f"and {len(flips) - shown} more {kind}; --json has them all")
    names = ("loosened", "tightened", "changed", "unchanged")
    counts = ", ".join(f"{report[name]} {name}" for name in names)
    click.echo(f"{counted(report['cases'], 'case')}: {counts}")
    if not report["flips"]:
        click.echo("this edit changes nothing in these cases")
    if report["approved"]:
        click.echo(
            f"{report['approved']} of the cases carry an approval. It is bound to the policy of its day and is "
            "compared as if it still held; at work it would be asked for anew"
        )
    for unused in report["unused"]:
        say(f"note: {unused} is acknowledged and loosens nothing; take it out")
    if report["unacknowledged"]:
        say(f"not acknowledged: {counted(report['unacknowledged'], 'loosened verdict')}")
        say(
            "fix: tighten the rule, or add each id with owner and reason to acknowledged.yaml in the folder"
        )


def _print_flip(flip: Json) -> None:
    old, new = flip["base"], flip["head"]
    mark = "  acknowledged" if flip["acknowledged"] else ""
    click.echo(f"{flip['class']}  {flip['id']}  {visible(flip['case'])}{mark}")
    click.echo(f"  - {old['effect']}: {_codes(old['codes'])}")
    click.echo(f"  + {new['effect']}: {_codes(new['codes'])}")


def _codes(codes: list[str]) -> str:
    more = f" and {len(codes) - _SHOWN_CODES} more" if len(codes) > _SHOWN_CODES else ""
    return visible(", ".join(codes[:_SHOWN_CODES]) + more)
