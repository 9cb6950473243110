"""How much of a policy its tests reach, from OPA's own report."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tipstaff.errors import ContractError


@dataclass(frozen=True)
class Coverage:
    """``percent`` of the lines with something to evaluate, never rounded up; ``uncovered`` has file and lines."""

    percent: float
    uncovered: tuple[dict[str, Any], ...]


def of_rules(report: bytes, folder: Path) -> Coverage:
    """Read what `opa test --coverage --format json` wrote, for the files below a folder, tests included.

    Raises ``ContractError`` (``policy.invalid``) for what is no report.
    """
    try:
        files = json.loads(report)["files"]
    except (ValueError, KeyError, TypeError) as error:
        raise ContractError(
            "policy.invalid",
            "OPA gave no report of what the tests reach",
            file=str(folder),
            fix="run the command again; a test that fails now and then hides the report",
        ) from error
    own = {name: file for name, file in files.items() if Path(name).is_relative_to(folder)}
    missed = {name: _rows(file.get("not_covered", [])) for name, file in own.items()}
    reached = sum(len(_rows(file.get("covered", [])) - missed[name]) for name, file in own.items())
    lines = reached + sum(map(len, missed.values()))
    uncovered = tuple(
        {"file": name, "lines": span} for name in sorted(own) for span in _ranges(missed[name])
    )
    return Coverage(math.floor(10_000 * reached / lines) / 100 if lines else 0.0, uncovered)


def _rows(places: Iterable[dict[str, Any]]) -> set[int]:
    return {
        row for place in places for row in range(place["start"]["row"], place["end"]["row"] + 1)
    }


def _ranges(rows: set[int]) -> list[str]:
    found: list[str] = []
    for row in sorted(rows):
        if row - 1 in rows:
            first = found.pop().partition("-")[0]
            found.append(f"{first}-{row}")
        else:
            found.append(str(row))
    return found
