"""`tipstaff tiers` and the documents by which the engine is asked about the configuration itself."""

from __future__ import annotations

from collections.abc import Iterable
from typing import get_args

import click

from tipstaff.cli.output import json_option, print_json, print_table, say
from tipstaff.documents.base import ActionClass, Json
from tipstaff.documents.verdict import Verdict
from tipstaff.engine import Engine

CLASSES: tuple[str, ...] = get_args(ActionClass)


@click.command()
@json_option
def tiers(as_json: bool) -> int:
    """Show the effective tier of every action class.

    Beside each stands the file and key that set it. A pause that holds is named below.
    """
    with Engine.open(say=say) as engine:
        verdicts = ask_about_classes(engine)
    rows = [
        {"class": name, **(verdict.facts["tier"] or {})}
        for name, verdict in zip(CLASSES, verdicts, strict=True)
    ]
    if as_json:
        print_json({"tiers": rows})
        return 0
    print_table(
        ["CLASS", "TIER", "CEILING", "SET BY"],
        [[row["class"], row["effective"], row["ceiling"], _source(row["set_by"])] for row in rows],
    )
    say_pauses(verdicts)
    return 0


def ask_about_classes(engine: Engine) -> list[Verdict]:
    """What the engine would say to an empty change of each class; nothing is recorded."""
    return engine.evaluate([_empty_change(name) for name in CLASSES])


def say_pauses(verdicts: Iterable[Verdict]) -> None:
    """Tell the person which pauses hold, as policy sees them, and what ends each."""
    held = {reason.code: reason for verdict in verdicts for reason in verdict.reasons}
    for code, reason in held.items():
        if code.startswith("pause."):
            say(f"note: {reason.message} [{code}]; {reason.solution}")


def _empty_change(name: str) -> Json:
    return {
        "schema_version": 1,
        "kind": "change",
        "subject": {"id": "configuration"},
        "action": {"class": name, "requested_capabilities": [], "found_capabilities": []},
        "resource": {"base": "", "diff_sha256": "0" * 64, "files": []},
    }


def _source(set_by: Json) -> str:
    return f"{set_by['file']}: {set_by['key']}" if set_by["file"] else str(set_by["key"])
