"""`tipstaff decide`: ask about a complete input document."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from tipstaff.cli.check import overlay_findings
from tipstaff.cli.completion import files
from tipstaff.cli.output import exit_code, json_option, print_json, print_verdict, say
from tipstaff.documents import strict_json
from tipstaff.documents.input import parse_input
from tipstaff.engine import Engine


@click.command()
@click.argument("document", metavar="INPUT.json|-", shell_complete=files)
@click.option(
    "--replay",
    is_flag=True,
    help="Use the document's own context; the answer is not recorded and nothing can be carried out on it.",
)
@json_option
def decide(document: str, replay: bool, as_json: bool) -> int:
    """Ask the engine about an input document.

    It is a file, or - for standard input.

    Exits 0 when the verdict is allow, 1 when it is not, 2 for a document that is not well formed, and 3 when no
    decision could be made. contracts/ has the schemas and examples.
    """
    if document == "-":
        file = "standard input"
        value = strict_json.loads(sys.stdin.buffer.read(strict_json.MAX_BYTES + 1), file=file)
    else:
        file = document
        value = strict_json.load(Path(file))
    given = parse_input(value, file=file)
    with Engine.open(say=say) as engine:
        for finding in overlay_findings(engine):
            say(f"note: {finding.message}; {finding.solution}")
        verdict = engine.evaluate([given], replay=True)[0] if replay else engine.decide(given)
    if as_json:
        print_json(verdict.model_dump(by_alias=True))
    else:
        print_verdict(verdict)
    return exit_code(verdict)
