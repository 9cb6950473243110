"""What a pull request tells of a block of prose that a script replaces: tokens, outputs, and where they come from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tipstaff.documents.input import AugmentFacts
from tipstaff.documents.markdown import code

INPUTS_SHOWN = 10


def lines(measured: AugmentFacts) -> Iterator[str]:
    """One line for each measurement, in Markdown."""
    block = measured.block
    sure = "no confidence stated"
    if block.confidence_permille is not None:
        sure = f"confidence {block.confidence_permille} of 1000"
    kind = code(block.class_ or "none", limit=60)
    yield f"Replaced block: {code(block.id, limit=80)} of {code(block.path)}, class {kind}, {sure}"
    yield f"Script: {code(measured.script.path)}, SHA-256 `{measured.script.sha256}`"
    if measured.tokens is None:
        yield "Tokens: not counted"
    else:
        by = f"{measured.tokens.tokenizer}, {measured.tokens.version}"
        yield (
            f"Tokens: {measured.tokens.before} before, {measured.tokens.after} after, "
            f"counted by {code(by, limit=80)}"
        )
    yield from _outputs(measured)
    prose = measured.prose
    if prose is not None:
        yield (
            f"Runs of the prose: {prose.source} of {code(prose.model, limit=80)}, "
            f"{code(prose.recorded_from)} to {code(prose.recorded_until)}, SHA-256 `{prose.sha256}`"
        )
    if measured.control is not None:
        yield (
            "The same tests with a script that does nothing: "
            f"{measured.control.passed} passed, {measured.control.failed} failed"
        )


def _outputs(measured: AugmentFacts) -> Iterator[str]:
    for each in measured.inputs[:INPUTS_SHOWN]:
        script, prose = _spread(each.script_outputs), _spread(each.prose_outputs)
        yield f"Outputs for {code(each.name)}: script {script}; prose {prose}"
    more = len(measured.inputs) - INPUTS_SHOWN
    if more > 0:
        yield f"and {more} more golden inputs, in the record of the decision"


def _spread(outputs: Sequence[str | None] | None) -> str:
    if outputs is None:
        return "not run"
    return f"{len(set(outputs))} distinct of {len(outputs)} runs"
