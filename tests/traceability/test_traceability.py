"""Every promised row has a test that names it, and no test names a row that is not promised."""

from __future__ import annotations

import ast
import json
from pathlib import Path

from traceability.rows import EARLY, ROWS

TESTS = Path(__file__).parents[1]
POLICY = TESTS.parent / "policy"


def rows_named_in_python() -> set[str]:
    """The arguments of every ``pytest.mark.req`` under tests/."""
    named: set[str] = set()
    for file in TESTS.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "pytest.mark.req":
                named |= {ast.literal_eval(argument) for argument in node.args}
    return named


def rows_named_in_rego(opa) -> set[str]:
    """The values of ``custom.req`` in the annotations of every Rego test."""
    found = json.loads(opa.run(["inspect", "-a", "-f", "json", str(POLICY)]).stdout)
    return {
        row
        for entry in found.get("annotations", [])
        for row in entry["annotations"].get("custom", {}).get("req", [])
    }


def test_every_promised_row_has_a_test(opa):
    named = rows_named_in_python() | rows_named_in_rego(opa)
    missing = [f"{row}: {promise}" for row, promise in ROWS.items() if row not in named]
    assert not missing


def test_no_test_names_an_unknown_row(opa):
    named = rows_named_in_python() | rows_named_in_rego(opa)
    assert not named - set(ROWS) - set(EARLY)
    assert set(EARLY) <= named
