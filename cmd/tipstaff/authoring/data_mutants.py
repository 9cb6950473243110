"""Mutants of a `data.json`: numbers one up and one down, switches turned, strings changed, members taken away.

JSON is read as the Rego value that it also is, so that each part has its place in the text.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tipstaff.authoring import rego_source
from tipstaff.authoring.mutants import Edit, Mutant, cut, members_dropped, of_terms
from tipstaff.pdp.opa import Opa

_BEFORE = "package data_file\n\nvalue := "
_LINES, _COLUMNS = 2, len("value := ")


def of_data(opa: Opa, path: str, text: str) -> list[Mutant]:
    """All mutants of one file, in the order of its text; ``path`` is below its tree.

    Raises ``ContractError`` (``policy.invalid``) for what is not one object.
    """
    with TemporaryDirectory(prefix="tipstaff-") as name:
        Path(name, path).parent.mkdir(parents=True, exist_ok=True)
        Path(name, path).write_text(_BEFORE + text, encoding="utf-8")
        module = rego_source.read(opa, Path(name), path)
    value = module.rules[0]["head"]["value"]
    package, seen = Path(path).parent.parts, Counter[str]()
    edits: list[tuple[str, Edit]] = [("", edit) for edit in members_dropped(module, value)]
    for key, inner in value["value"]:
        edits += [(str(key["value"]), edit) for edit in of_terms(module, inner)]
    found = []
    for key, edit in sorted(edits, key=lambda pair: pair[1].start):
        where = ".".join((*package, key) if key else package)
        found.append(_unwrapped(cut(module, edit, key, where, seen)))
    return found


def changes(text: str, mutant: Mutant) -> tuple[dict[str, Any], list[str]]:
    """What a mutant makes of the file: the top-level keys with another value, and those that are gone."""
    before, after = json.loads(text), json.loads(mutant.text)
    changed = {key: value for key, value in after.items() if before.get(key) != value}
    return changed, [key for key in before if key not in after]


def _unwrapped(mutant: Mutant) -> Mutant:
    line = mutant.line - _LINES
    column = mutant.column - (_COLUMNS if line == 1 else 0)
    return replace(mutant, line=line, column=column, text=mutant.text.removeprefix(_BEFORE))
