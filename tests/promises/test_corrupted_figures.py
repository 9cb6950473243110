"""Tens of thousands of corrupted documents, none of which is judged more kindly than the sound one."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations, islice
from pathlib import Path
from typing import Any

import pytest

from support.corruption import dump, some_mutants
from support.documents import changed
from support.figures import dice, figure
from support.refused_documents import CHANGE, REFUSED
from support.rego import evaluate
from tipstaff.pdp.opa import Opa

EFFECTS = "[verdict.effect | some verdict in data.tipstaff.decision.verdicts]"
BATCH = 5000


def refused_twice() -> dict[str, Any]:
    """Documents that are refused for two facts in two places, so that no corruption of one may let them through."""
    # Where a class that reads touches no file, no other fact is needed.
    changing = {name: case for name, case in REFUSED.items() if name != "reading class"}
    return {
        f"{one} and {other}": changed(CHANGE, **REFUSED[one][0], **REFUSED[other][0])
        for one, other in combinations(changing, 2)
        if not _meet(REFUSED[one][1], REFUSED[other][1])
    }


def _meet(one: tuple[str | int, ...], other: tuple[str | int, ...]) -> bool:
    return one[: len(other)] == other[: len(one)]


@pytest.mark.promise("D3", "BR-12", "ahead 4")
@figure("wanted", commit=600, full=50_000)
def test_document_refused_for_two_facts_is_never_allowed(
    opa: Opa, tmp_path: Path, wanted: int, record_property: Callable[[str, object], None]
) -> None:
    bases, chance = list(refused_twice().items()), dice()
    used = chance.sample(bases, min(len(bases), 250))
    chosen = [
        case
        for name, document in used
        for case in some_mutants(name, document, wanted // len(used) + 1, chance)
    ]
    assert len(chosen) >= wanted
    fields = {(case.base, case.place) for case in chosen}
    ways = {case.how for case in chosen}
    rest = iter(chosen)
    loosened = []
    while cases := list(islice(rest, BATCH)):
        effects = evaluate(opa, EFFECTS, dump([case.document for case in cases]), tmp_path)
        loosened += [
            (case.base, case.place, case.how)
            for case, effect in zip(cases, effects, strict=True)
            if effect not in ("deny", "escalate", "require_approval")
        ]
    assert loosened == []
    record_property(
        "D3",
        f"{len(chosen):,} corruptions in {len(ways)} ways of {len(used)} documents and "
        f"{len(fields):,} of their fields, 0 allowed",
    )
