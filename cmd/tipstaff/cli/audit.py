"""`tipstaff audit`: the trail, proven, listed and exported."""

from __future__ import annotations

from pathlib import Path

import click

from tipstaff.cli.output import (
    counted,
    exit_code,
    json_option,
    print_json,
    print_table,
    print_verdict,
    say,
)
from tipstaff.cli.program import SuggestingGroup
from tipstaff.cli.writing import writing
from tipstaff.documents.input import control
from tipstaff.documents.text import visible
from tipstaff.engine import Engine
from tipstaff.ledger.trail import Trail
from tipstaff.pdp.places import witness_folder
from tipstaff.project import Project


@click.group(cls=SuggestingGroup)
def audit() -> None:
    """Verify, list and export the audit trail."""


@audit.command()
@json_option
def verify(as_json: bool) -> int:
    """Recompute the chain and hold it against the witness's checkpoint.

    Exits 0 when every record is what was written and none is missing, 1 naming the first that is not.
    """
    with _trail() as trail:
        result = trail.verify()
    problems = [
        {
            "line": problem.line,
            "seq": problem.seq,
            "code": problem.code,
            "message": problem.message,
        }
        for problem in result.problems
    ]
    if as_json:
        print_json({"valid": result.is_valid, "records": result.records, "problems": problems})
    elif result.is_valid:
        click.echo(f"{result.records} records, chain and checkpoint hold")
    for problem in () if as_json else problems:
        where = f"line {problem['line']}" if problem["line"] else "trail"
        click.echo(f"{where}: {visible(str(problem['message']))} [{problem['code']}]")
    return 0 if result.is_valid else 1


@audit.command("list")
@click.option("--last", type=click.IntRange(min=1), help="Only so many of the newest records.")
@json_option
def list_records(last: int | None, as_json: bool) -> int:
    """List records, oldest first."""
    with _trail() as trail:
        records = list(trail.records())[-(last or 0) :]
    if as_json:
        print_json({"records": [record.model_dump(by_alias=True) for record in records]})
        return 0
    print_table(
        ["SEQ", "AT", "DECISION", "CLASS", "TARGET", "CODES", "ID"],
        [
            [
                record.seq,
                record.at,
                record.decision,
                record.action_class,
                record.target,
                " ".join(record.codes),
                record.decision_id,
            ]
            for record in records
        ],
    )
    return 0


@audit.command()
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
@json_option
def export(file: Path, as_json: bool) -> int:
    """Copy the records, byte for byte, to a new file; an existing one is not overwritten."""
    with _trail() as trail:
        content = trail.path.read_bytes() if trail.path.exists() else b""
    with writing(file), file.open("xb") as target:
        target.write(content)
    records = content.count(b"\n")
    if as_json:
        print_json({"file": str(file), "records": records})
    else:
        click.echo(f"wrote {counted(records, 'record')} to {visible(str(file))}")
    return 0


@audit.command()
@click.option("--reason", required=True, help="Why; the new trail's first record keeps it.")
@json_option
def restart(reason: str, as_json: bool) -> int:
    """Set a damaged or lost trail aside and begin a new one. Only a person may.

    Nothing is deleted: the old file moves to set-aside/ in the state folder, the witness keeps its checkpoints, and
    the new trail begins by saying what came before. Exits 1 when policy refuses.
    """
    with Engine.open(say=say) as engine:
        [verdict] = engine.evaluate([control("restart", "audit-trail", subject=engine.actor.id)])
        if verdict.is_allowed:
            engine.trail.restart(engine.actor, reason)
    if as_json:
        print_json(verdict.model_dump(by_alias=True))
    else:
        print_verdict(verdict)
    return exit_code(verdict)


def _trail() -> Trail:
    return Trail(Project.find().state, witness=witness_folder())
