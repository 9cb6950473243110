"""`tipstaff augment`: marked blocks of a skill's prose, and scripts in their place."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from tipstaff.cli.completion import files
from tipstaff.cli.output import exit_code, json_option, print_json, print_table, say
from tipstaff.cli.program import SuggestingGroup
from tipstaff.documents.text import visible
from tipstaff.errors import ContractError

if TYPE_CHECKING:
    from tipstaff.documents.input import AugmentFacts
    from tipstaff.healing.augment.blocks import Block
    from tipstaff.healing.augment.proposal import AugmentOutcome


@click.group(cls=SuggestingGroup)
def augment() -> None:
    """Scan a skill for marked blocks; propose a script in place of one."""


@augment.command()
@click.argument("file", metavar="SKILL.md", shell_complete=files)
@json_option
def scan(file: str, as_json: bool) -> int:
    """List the blocks that are marked in a file, with their class and confidence.

    Exits 2 for a marker that is malformed, unknown, unclosed, nested or a duplicate, naming file and line.
    """
    from tipstaff.healing.augment.blocks import scan

    found = scan(_read(file), file=file)
    if as_json:
        print_json({"file": file, "blocks": [_block(each) for each in found]})
        return 0
    if not found:
        say(f"no block is marked in {file}")
        return 0
    rows = [
        [each.id, f"{each.first_line}-{each.last_line}", each.class_, _confidence(each)]
        for each in found
    ]
    print_table(["ID", "LINES", "CLASS", "CONFIDENCE"], rows)
    return 0


@augment.command()
@click.argument("file", metavar="SKILL.md", shell_complete=files)
@click.option("--block", required=True, help="Id of the block to replace.")
@click.option(
    "--script", required=True, shell_complete=files, help="Python script that replaces it."
)
@click.option(
    "--golden",
    required=True,
    help="Folder of the golden tests, with inputs/NAME and expected/NAME for each case.",
)
@click.option("--prose-runs", shell_complete=files, help="Recorded runs of the prose, a JSON file.")
@click.option(
    "--prose-cmd",
    help="Your own command that runs the prose; it is given two files, prose and input, and no sandbox.",
)
@click.option("--model", default="not named", help="Model that --prose-cmd asks, for the record.")
@click.option("--save-runs", help="File to write the runs of --prose-cmd to.")
@click.option(
    "--tests",
    help="Command that runs the golden tests; tests.command of tipstaff.yaml, else pytest on --golden.",
)
@click.option("--subject", help="For whom the change is made; you, if not given.")
@json_option
def propose(  # noqa: PLR0913 (one parameter for each option)
    file: str,
    block: str,
    script: str,
    golden: str,
    prose_runs: str | None,
    prose_cmd: str | None,
    model: str,
    save_runs: str | None,
    tests: str | None,
    subject: str | None,
    as_json: bool,
) -> int:
    """Have a script measured and judged in place of a block of prose, and carry the verdict out.

    The golden tests must pass in the sandbox, the script's outputs vary no more than the prose's, and the text become
    shorter: all three, or nothing is proposed. Exits as `tipstaff change propose` does.
    """
    from tipstaff.cli.change import outcome_as_json, print_outcome
    from tipstaff.cli.choice import remember_choice
    from tipstaff.cli.writing import demand_room, write_text
    from tipstaff.engine import Engine
    from tipstaff.evidence.repository import Repository
    from tipstaff.healing.augment.proposal import CLASS, AugmentRequest, propose

    _demand_one_source(prose_runs, prose_cmd, save_runs)
    if save_runs is not None:
        demand_room(Path(save_runs))
    with Engine.open(say=say) as engine:
        if not as_json:
            remember_choice(engine, CLASS)
        request = AugmentRequest(
            file=Path(file),
            block=block,
            script=Path(script),
            golden=Path(golden),
            subject=engine.actor.id if subject is None else subject,
            recording=None if prose_runs is None else Path(prose_runs),
            prose_command=prose_cmd,
            model=model,
            tests=tests,
        )
        outcome = propose(engine, Repository.open(engine.project.root), request, say=say)
    if save_runs is not None and outcome.recorded is not None:
        write_text(Path(save_runs), outcome.recorded.model_dump_json(indent=2) + "\n")
    if as_json:
        measured = outcome.measured.model_dump(by_alias=True)
        print_json({**outcome_as_json(outcome.change), "augment": measured})
    else:
        _print(outcome)
        print_outcome(outcome.change)
    return exit_code(outcome.change.verdict)


def _demand_one_source(runs: str | None, command: str | None, save: str | None) -> None:
    if runs is not None and command is not None:
        raise click.UsageError("--prose-runs and --prose-cmd exclude each other")
    if save is not None and command is None:
        raise click.UsageError("--save-runs is for the runs of --prose-cmd")


def _read(file: str) -> bytes:
    from tipstaff.files import read_regular
    from tipstaff.healing.augment.blocks import MAX_BYTES

    try:
        return read_regular(Path(file), limit=MAX_BYTES)
    except OSError as error:
        raise ContractError(
            "file.unreadable",
            error.strerror or str(error),
            file=file,
            fix="name a regular file that is no link",
        ) from error


def _block(block: Block) -> dict[str, object]:
    return {
        "id": block.id,
        "class": block.class_,
        "confidence_permille": block.confidence_permille,
        "first_line": block.first_line,
        "last_line": block.last_line,
        "prose_sha256": block.prose_sha256,
    }


def _confidence(block: Block) -> str:
    permille = block.confidence_permille
    return "" if permille is None else f"{permille // 1000}.{permille % 1000:03}"


def _print(outcome: AugmentOutcome) -> None:
    measured = outcome.measured
    if measured.tokens is not None:
        counted = measured.tokens
        click.echo(
            f"tokens: {counted.before} before, {counted.after} after "
            f"({counted.tokenizer}, {counted.version})"
        )
    for each in measured.inputs:
        click.echo(f"{visible(each.name)}: {_sides(each.script_outputs, each.prose_outputs)}")
    _print_control(measured)


def _print_control(measured: AugmentFacts) -> None:
    control = measured.control
    if control is not None:
        click.echo(
            f"tests with a script that does nothing: {control.passed} passed, {control.failed} failed"
        )


def _sides(script: list[str | None] | None, prose: list[str] | None) -> str:
    return f"script {_spread(script)}, prose {_spread(prose)}"


def _spread(outputs: list[str | None] | list[str] | None) -> str:
    if outputs is None:
        return "not run"
    return f"{len(set(outputs))} distinct of {len(outputs)}"
