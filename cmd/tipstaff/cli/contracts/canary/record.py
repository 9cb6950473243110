"""`tipstaff contracts canary record`: a call, made until its answer is known to be settled."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from tipstaff.cli.output import exit_code, json_option, print_json, print_verdict, say
from tipstaff.documents import strict_json
from tipstaff.documents.text import visible
from tipstaff.errors import ContractError

if TYPE_CHECKING:
    from tipstaff.documents.base import Json
    from tipstaff.healing.pins.recording import Recorded


@click.command()
@click.argument("name", metavar="NAME")
@click.option("--tool", required=True, help="The tool to call.")
@click.option(
    "--arguments", default="{}", metavar="JSON", help="One JSON object.", show_default=True
)
@click.option(
    "--mask",
    "masks",
    multiple=True,
    metavar="POINTER",
    help="JSON pointer to what may differ, such as /structuredContent/ts or /ts; may be repeated.",
)
@click.option("--grant", is_flag=True, help="Grant a call of a tool that may change something.")
@click.option("--id", "canary_id", help="The canary's name; else made of tool and arguments.")
@json_option
def record(  # noqa: PLR0913 (one parameter for each option)
    name: str,
    tool: str,
    arguments: str,
    masks: tuple[str, ...],
    grant: bool,
    canary_id: str | None,
    as_json: bool,
) -> int:
    """Record a call of a tool and what it answers.

    The server runs in the sandbox and the tool is called eight times. Policy says before whether it may be called, and
    after whether its answers are settled. The canary is kept in a candidate of the snapshot: a person accepts it.

    Exits 0 when there is a candidate, 1 when policy lets the call not be made or kept, 2 for bad input or a call that
    fails, 3 when the server is not observed.
    """
    from tipstaff.cli.contracts.check import live
    from tipstaff.engine import Engine
    from tipstaff.healing.pins.recording import Wish
    from tipstaff.healing.pins.recording import record as record_call

    wish = Wish(tool, _object(arguments), masks, grant, canary_id)
    with Engine.open(say=say) as engine:
        done = record_call(engine, name, wish, live(engine))
    if as_json:
        print_json(_document(done))
    else:
        _show(name, done)
    return exit_code(done.verdict)


def _object(text: str) -> Json:
    value: Any = strict_json.loads(text.encode("utf-8", "surrogateescape"), any_form=True)
    if not isinstance(value, dict):
        raise ContractError(
            "document.invalid",
            "the arguments are one JSON object",
            field="--arguments",
            fix='write them like {"city": "Bonn"}',
        )
    return value


def _document(done: Recorded) -> Json:
    return {
        "verdict": done.verdict.model_dump(by_alias=True),
        "canary": done.canary.model_dump() if done.canary else None,
        "digest": done.digest,
        "runs": done.runs,
        "distinct": done.distinct,
        "differences": list(done.differences),
    }


def _show(name: str, done: Recorded) -> None:
    from tipstaff.cli.contracts.shown import say_what_to_do

    print_verdict(done.verdict)
    if done.runs:
        click.echo(f"{done.runs} answers, {done.distinct} different")
    for pointer in done.differences:
        click.echo(f"  differs at {visible(pointer)}")
    if done.canary is not None:
        click.echo(visible(f"canary {done.canary.id}: {done.canary.fingerprint}"))
        say_what_to_do(name, str(done.digest))
