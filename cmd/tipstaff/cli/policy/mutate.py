"""`tipstaff policy mutate`."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tipstaff import declared
from tipstaff.cli.output import counted, json_option, print_json, say
from tipstaff.cli.policy.folder import folder_argument, overlay, root
from tipstaff.documents.text import visible
from tipstaff.errors import ContractError
from tipstaff.pdp.opa import ensure

if TYPE_CHECKING:
    from tipstaff.authoring.mutants import Mutant
    from tipstaff.authoring.mutation import Outcome

_ALL = 100.0


@click.command()
@folder_argument
@click.option("--only", metavar="PACKAGE", help="One package and those below it, as org.size.")
@click.option(
    "--changed",
    "ref",
    metavar="REF",
    help="Only files that differ from a commit, or whose tests beside them do.",
)
@click.option(
    "--minimum",
    type=click.FloatRange(0, _ALL),
    help="Percent that must be killed; else as mutation.toml says, the folder's or Tipstaff's own.",
)
@click.option(
    "--strict",
    is_flag=True,
    help="Each survivor that nobody explains is a finding, instead of a low score.",
)
@click.option(
    "--jobs",
    type=click.IntRange(min=1),
    help="How many mutants to try at a time; else one a processor.",
)
@json_option
def mutate(  # noqa: PLR0913 (one parameter for each option)
    folder: Path | None,
    only: str | None,
    ref: str | None,
    minimum: float | None,
    strict: bool,
    jobs: int | None,
    as_json: bool,
) -> int:
    """Change the policy in many small ways, and list the changes that no test notices.

    Operators are exchanged, literals changed, negations added and removed, members, expressions, rules and defaults
    taken away, in Rego and in data.json. A change that does not compile is not counted.

    A survivor that cannot be killed is explained in mutation.toml beside the policy, by its id.

    Exits 1 when the score is below the minimum, with --strict when a survivor is not explained, and when an explanation
    fits no survivor.
    """
    from tipstaff.authoring import explained, mutation, policy_tree

    folder = folder or overlay()
    is_ours, opa = root(folder) == "tipstaff", ensure(say)
    ours = declared.folder("policy")
    tree = policy_tree.load(opa, folder, None if is_ours else ours)
    said = explained.read(folder)
    given = mutation.all_mutants(opa, tree, only)
    if not given:
        raise ContractError(
            "policy.invalid",
            "there is nothing to change",
            file=str(folder),
            field=only,
            fix="name a folder with rules, and with --only a package of it",
        )
    if ref is not None:
        given = _touched(folder, ref, given)
    outcomes = mutation.run(opa, tree, given, jobs=jobs or os.cpu_count() or 1, tell=_tell)
    if minimum is None and not strict:
        minimum = next(
            one for one in (said.minimum, explained.read(ours).minimum) if one is not None
        )
    whole = only is None and ref is None
    report = _report(folder, outcomes, said.reasons, minimum, whole=whole)
    if as_json:
        print_json(report)
    else:
        _show(report)
    return 0 if _is_enough(report, strict=strict) else 1


def _touched(folder: Path, ref: str, given: Sequence[Mutant]) -> list[Mutant]:
    from tipstaff.authoring.changed import differing, is_touched
    from tipstaff.evidence.repository import Repository

    repository = Repository.open(folder)
    changed = differing(repository, repository.resolve(ref), folder)
    return [mutant for mutant in given if is_touched(mutant.file, changed)]


def _is_enough(report: dict[str, Any], *, strict: bool) -> bool:
    # No decision about a change: the number that the caller or the folder wants, held against a count.
    score, minimum = report["score"], report["minimum"]
    is_low = score is not None and minimum is not None and score < minimum
    is_open = strict and any(one["explained"] is None for one in report["survivors"])
    return not (is_low or is_open or report["unused"])


def _report(
    folder: Path,
    outcomes: Sequence[Outcome],
    reasons: dict[str, str],
    minimum: float | None,
    *,
    whole: bool,
) -> dict[str, Any]:
    survivors = [one.mutant for one in outcomes if one.fate == "survived"]
    tried_out = sum(one.fate != "uncompiled" for one in outcomes)
    killed = tried_out - len(survivors)
    tried = {one.mutant.id for one in outcomes}
    used = {mutant.id for mutant in survivors}
    return {
        "mutants": tried_out,
        "killed": killed,
        "survived": len(survivors),
        "score": math.floor(10_000 * killed / tried_out) / 100 if tried_out else None,
        "minimum": minimum,
        "uncompiled": len(outcomes) - tried_out,
        "unused": sorted(key for key in reasons if key not in used and (whole or key in tried)),
        "survivors": [
            {
                "id": mutant.id,
                "file": str(folder / mutant.file),
                "line": mutant.line,
                "column": mutant.column,
                "operator": mutant.operator,
                "where": mutant.where,
                "before": mutant.before,
                "after": mutant.after,
                "explained": reasons.get(mutant.id),
            }
            for mutant in survivors
        ],
    }


def _show(report: dict[str, Any]) -> None:
    for one in report["survivors"]:
        place = f"{one['file']}:{one['line']}:{one['column']}"
        click.echo(f"{visible(place)}: {one['operator']} in {visible(one['where'])} [{one['id']}]")
        click.echo(f"    {visible(one['before'])}")
        click.echo(f"    became: {visible(one['after']) or '(nothing)'}")
        if one["explained"]:
            click.echo(f"    explained: {visible(one['explained'])}")
    for key in report["unused"]:
        click.echo(f"the explanation of {key} fits no survivor: remove it from mutation.toml")
    if report["score"] is None:
        click.echo("nothing was changed that the rules rest on")
        return
    known = sum(one["explained"] is not None for one in report["survivors"])
    wanted = "" if report["minimum"] is None else f", wanted {report['minimum']:g} %"
    click.echo(
        f"{report['killed']} of {counted(report['mutants'], 'mutant')} killed, {report['survived']} survived, "
        f"{known} of these explained: {report['score']:g} %{wanted}"
    )


def _tell(done: int, of: int) -> None:
    say(f"{done} of {of} mutants tried")
