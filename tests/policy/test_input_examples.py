"""The example documents are what they are named after: valid, and answered with the effect in their name."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from support.rego import REVISION, evaluate
from support.schemas import demand
from tipstaff import declared
from tipstaff.documents.base import parse
from tipstaff.documents.input import parse_input
from tipstaff.documents.verdict import Verdict
from tipstaff.pdp.opa import VERSION, Opa

EXAMPLES = sorted((declared.folder("contracts") / "examples").glob("*.input.json"))
EFFECTS = {
    "change": {"allow", "require_approval", "escalate", "deny"},
    "contract": {"allow", "require_approval", "escalate", "deny"},
    "control": {"allow", "escalate", "deny"},
    "modification": {"allow", "require_approval", "escalate", "deny"},
}
each_example = pytest.mark.parametrize("file", EXAMPLES, ids=lambda file: file.name)


def named(file: Path) -> tuple[str, str]:
    """The kind and the effect that a file is named after."""
    kind, effect, *_ = file.name.removesuffix(".input.json").split("-")
    return kind, effect


def read(file: Path) -> Any:
    """The document in a file."""
    return json.loads(file.read_text())


def test_every_effect_that_a_kind_can_have_has_an_example() -> None:
    found: dict[str, set[str]] = {}
    for file in EXAMPLES:
        kind, effect = named(file)
        found.setdefault(kind, set()).add(effect)
    assert found == EFFECTS


@each_example
def test_example_is_valid_by_schema_and_by_model(file: Path) -> None:
    document = read(file)
    demand(named(file)[0], document)
    assert parse_input(document).model_dump(by_alias=True).keys() == document.keys()
    assert document["context"]["bundles"] == {"tipstaff": REVISION, "org": None}


@each_example
def test_example_is_answered_with_the_effect_in_its_name(
    file: Path, opa: Opa, tmp_path: Path
) -> None:
    kind, effect = named(file)
    verdict = evaluate(opa, "data.tipstaff.decision.verdict", read(file), tmp_path, strict=True)
    assert (verdict["kind"], verdict["effect"]) == (kind, effect)
    assert verdict["codes"]


@each_example
def test_example_verdict_is_what_is_answered(file: Path, opa: Opa, tmp_path: Path) -> None:
    shown = read(file.with_name(file.name.replace(".input.", ".verdict.")))
    demand("verdict", shown)
    parse(Verdict, shown)
    verdict = evaluate(opa, "data.tipstaff.decision.verdict", read(file), tmp_path, strict=True)
    assert shown == {**verdict, "policy": {**verdict["policy"], "opa_version": VERSION}}


def test_examples_are_answered_alike_in_one_batch(opa: Opa, tmp_path: Path) -> None:
    documents = [read(file) for file in EXAMPLES]
    verdicts = evaluate(
        opa, "data.tipstaff.decision.verdicts", {"documents": documents}, tmp_path, strict=True
    )
    assert [verdict["effect"] for verdict in verdicts] == [named(file)[1] for file in EXAMPLES]
