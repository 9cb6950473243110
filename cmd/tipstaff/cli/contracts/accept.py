"""`tipstaff contracts accept`: a person moves a committed snapshot to the one that was shown."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from tipstaff.cli.contracts.shown import show_lines
from tipstaff.cli.output import exit_code, json_option, print_json, print_verdict, say
from tipstaff.documents.text import visible

if TYPE_CHECKING:
    from tipstaff.healing.pins.acceptance import Acceptance


@click.command()
@click.argument("name", metavar="NAME")
@click.option("--digest", required=True, help="The digest that check, snapshot or canary showed.")
@json_option
def accept(name: str, digest: str, as_json: bool) -> int:
    """Commit to the contract of this digest.

    Shown is what is accepted: each finding, and the difference of both contracts with everything that is hidden, or
    looks like something else, as an escape. Policy judges it, the trail records who accepted which bytes, and then the
    snapshot's file is written. Committing it to git is yours.

    Exits 0 when it is written, 1 when policy refuses: another digest than one that was looked at, an agent, CI.
    """
    from tipstaff.engine import Engine
    from tipstaff.healing.pins.acceptance import accept as accept_candidate

    with Engine.open(say=say) as engine:
        done = accept_candidate(engine, name, digest)
    if as_json:
        print_json(
            {
                "verdict": done.verdict.model_dump(by_alias=True),
                "old_digest": done.old_digest,
                "new_digest": done.new_digest,
                "file": str(done.file) if done.file else None,
                "shown": done.shown,
                "shown_sha256": done.shown_sha256,
                "diff": done.diff.model_dump() if done.diff else None,
            }
        )
    else:
        _show(done)
    return exit_code(done.verdict)


def _show(done: Acceptance) -> None:
    if done.shown is not None:
        # Escaped already, and nothing of it may be cut.
        click.echo(done.shown, nl=False)
    if done.diff is not None and done.diff.findings:
        show_lines(done.diff)
    print_verdict(done.verdict)
    if done.file is not None:
        old = done.old_digest or "nothing"
        click.echo(visible(f"{done.file}: {old} is now {done.new_digest}"))
