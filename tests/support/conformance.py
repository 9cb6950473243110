"""The conformance cases of governed modifications: facts of one document, and what must be answered."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parents[1] / "conformance"
BASE = json.loads((FOLDER / "base.json").read_bytes())


@dataclass(frozen=True)
class Case:
    """One case: the requirement that it is of, facts by their paths, and the outcome and codes that follow."""

    row: str
    name: str
    facts: Mapping[str, Any]
    outcome: str
    codes: Sequence[str]

    def document(self, bundles: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """The whole document, for the policy of these revisions."""
        document = with_facts(BASE, self.facts)
        if bundles is not None:
            document["context"]["bundles"] = dict(bundles)
        return document


def cases() -> dict[str, Case]:
    """All of them by file and name."""
    return {
        f"{file.stem}: {one['name']}": Case(**one)
        for file in sorted((FOLDER / "cases").glob("*.json"))
        for one in json.loads(file.read_bytes())
    }


def with_facts(document: Mapping[str, Any], facts: Mapping[str, Any]) -> dict[str, Any]:
    """A copy with facts set at paths, written as ``/evidence/proof``."""
    changed = deepcopy(dict(document))
    for path, value in facts.items():
        *above, name = path.strip("/").split("/")
        place = changed
        for step in above:
            place = place[step]
        place[name] = value
    return changed
