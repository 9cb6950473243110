"""Asking a person, once a class, whether to apply by itself what policy permits; remembered in the local file."""

from __future__ import annotations

import sys

import click

from tipstaff.cli.output import say
from tipstaff.cli.tiers import CLASSES, ask_about_classes
from tipstaff.cli.writing import write_text
from tipstaff.documents.base import Json
from tipstaff.engine import Engine
from tipstaff.project import LOCAL_FILE

_ANSWERS = {"auto-fix": "auto-if-tests-pass", "propose": "propose"}
_NEVER_ASKED = frozenset({"audit"})


def remember_choice(engine: Engine, action_class: str) -> None:
    """Ask, if a person is there and was not asked before, and save the answer as far as the ceiling lets it.

    Without a terminal nothing is asked or written, and the files alone decide.
    """
    file = engine.project.local
    local: Json = file.value if file else {"schema_version": 1}
    remembered: Json = local.get("remembered_choices", {})
    asks = action_class in CLASSES and action_class not in _NEVER_ASKED
    if not asks or action_class in remembered or not _is_interactive():
        return
    answer = click.prompt(
        f"{action_class}: apply by itself what policy permits, or propose every change?",
        type=click.Choice(list(_ANSWERS)),
        default="propose",
        err=True,
    )
    wished = {**local, "remembered_choices": {**remembered, action_class: _ANSWERS[answer]}}
    _save(engine, wished)
    granted = _granted(engine, action_class)
    if granted != _ANSWERS[answer]:
        wished["remembered_choices"][action_class] = granted
        _save(engine, wished)
        say(f"the team's ceiling for {action_class} is {granted}; that is remembered")


def _is_interactive() -> bool:
    return sys.stdin.isatty() and sys.stderr.isatty()


def _granted(engine: Engine, action_class: str) -> str:
    verdict = ask_about_classes(engine)[CLASSES.index(action_class)]
    return str(verdict.facts["tier"]["effective"])


def _save(engine: Engine, value: Json) -> None:
    import yaml

    write_text(engine.project.root / LOCAL_FILE, yaml.safe_dump(value, sort_keys=False))
