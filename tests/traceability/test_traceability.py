"""Every promised row and promise has a test that names it, and no test names what is not promised."""

from __future__ import annotations

import ast
import json
from pathlib import Path
from typing import Any

import pytest

from tipstaff.pdp.opa import Opa
from traceability.promises import PENDING, PROMISES
from traceability.rows import EARLY, ROWS

TESTS = Path(__file__).parents[1]
POLICY = TESTS.parent / "policy"


def named_in_python(marker: str) -> set[str]:
    """The arguments of every ``pytest.mark.<marker>`` under tests/."""
    named: set[str] = set()
    for file in TESTS.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == f"pytest.mark.{marker}":
                named |= {ast.literal_eval(argument) for argument in node.args}
    return named


@pytest.fixture(scope="module")
def annotations(opa: Opa) -> list[Any]:
    """The annotations of the policy and its tests."""
    found = json.loads(opa.run(["inspect", "-a", "-f", "json", str(POLICY)]).stdout)
    return [entry["annotations"] for entry in found.get("annotations", [])]


def named_in_rego(annotations: list[Any], key: str) -> set[str]:
    """The values of ``custom.<key>`` in the annotations of every Rego test."""
    return {name for entry in annotations for name in entry.get("custom", {}).get(key, [])}


def test_every_promised_row_has_a_test(annotations: list[Any]) -> None:
    named = named_in_python("req") | named_in_rego(annotations, "req")
    missing = [f"{row}: {promise}" for row, promise in ROWS.items() if row not in named]
    assert not missing


def test_no_test_names_an_unknown_row(annotations: list[Any]) -> None:
    named = named_in_python("req") | named_in_rego(annotations, "req")
    assert not named - set(ROWS) - set(EARLY)
    assert set(EARLY) <= named


def test_every_promise_of_reliability_has_a_test_unless_it_is_pending(
    annotations: list[Any],
) -> None:
    named = named_in_python("promise") | named_in_rego(annotations, "promise")
    missing = {f"{name}: {words}" for name, words in PROMISES.items() if name not in named}
    assert missing == {f"{name}: {PROMISES[name]}" for name in PENDING}, "PENDING only shrinks"
    assert named <= set(PROMISES)
