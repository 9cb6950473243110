"""Cases for verdict diffs: folders of complete documents made from the shipped examples."""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tipstaff import declared

EXAMPLES = declared.folder("contracts") / "examples"


def example(name: str = "change-allow") -> dict[str, Any]:
    """A shipped example's document."""
    return dict(json.loads((EXAMPLES / f"{name}.input.json").read_text()))


def a_case(path: str = "skills/weather/SKILL.md", **team: Any) -> dict[str, Any]:
    """The allowed example, changing one file at a path, under groups of the team's settings."""
    document = copy.deepcopy(example())
    document["resource"]["files"][0]["path"] = path
    document["context"]["config"]["team"] |= {"paths": {"allowed": ["**"]}, **team}
    return document


def write_cases(folder: Path, cases: Mapping[str, Any]) -> Path:
    """Write each case as ``<name>.input.json`` below the folder; returns the folder."""
    for name, document in cases.items():
        file = folder / f"{name}.input.json"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(document))
    return folder
