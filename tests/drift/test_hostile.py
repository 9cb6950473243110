"""A server that means harm costs bounded time and memory, and ends in findings or an error."""

from __future__ import annotations

import time
import tracemalloc
from typing import Any

import pytest

from support.contracts import capture, kinds, parameter_changes, schema_changes, taken
from tipstaff.drift.diff import diff
from tipstaff.drift.sight import first_sight

CEILING_S = 60
CEILING_BYTES = 200 << 20


def bomb(width: int, depth: int, word: str) -> dict[str, Any]:
    """A schema whose definitions refer to the next one several times each."""
    shared = {
        f"d{level}": {word: [{"$ref": f"#/$defs/d{level + 1}"} for _ in range(width)]}
        for level in range(depth)
    }
    shared[f"d{depth}"] = {"type": "string"}
    return {"type": "object", "properties": {"x": {"$ref": "#/$defs/d0"}}, "$defs": shared}


def chain(length: int, kind: str) -> dict[str, Any]:
    """A schema of definitions, each a member of the one before."""
    shared: dict[str, Any] = {
        f"d{level}": {"type": "object", "properties": {"a": {"$ref": f"#/$defs/d{level + 1}"}}}
        for level in range(length)
    }
    shared[f"d{length}"] = {"type": kind}
    return {"type": "object", "properties": {"x": {"$ref": "#/$defs/d0"}}, "$defs": shared}


@pytest.mark.parametrize("word", ["allOf", "anyOf", "oneOf"])
def test_references_that_multiply_end_in_a_finding(word: str) -> None:
    begun = time.process_time()
    old, new = bomb(4, 20, word), bomb(4, 20, word)
    new["$defs"]["d20"] = {"type": "integer"}
    found = schema_changes(old, new)
    assert kinds(found) - {"equivalent_rewrite"}
    assert all(change.facts["direction"] in ("unknown", "narrows") for change in found)
    assert time.process_time() - begun < CEILING_S


def test_change_at_the_end_of_a_long_chain_is_found() -> None:
    found = schema_changes(chain(2000, "string"), chain(2000, "integer"))
    assert kinds(found) <= {"type_changed", "constraint_tightened"}
    assert found


def test_references_in_a_ring_end() -> None:
    ring = {f"d{at}": {"anyOf": [{"$ref": f"#/$defs/d{(at + 1) % 5}"}]} for at in range(5)}
    old = {"type": "object", "properties": {"x": {"$ref": "#/$defs/d0"}}, "$defs": ring}
    new = {**old, "properties": {"x": {"type": "string"}}}
    assert schema_changes(old, new)
    assert schema_changes(new, old)
    assert parameter_changes({"$ref": "#/properties/x"}, {"type": "string"})


def test_two_thousand_tools_and_long_texts_are_read_in_bounded_time_and_memory() -> None:
    tools = [
        {"name": f"tool_{place}", "description": "word " * 20, "inputSchema": {"type": "object"}}
        for place in range(2_000)
    ]
    later = [{**tool, "description": f"{tool['description']}now"} for tool in tools]
    later[0] = {**later[0], "description": "word " * 200_000}
    sides = [taken(capture(*side)) for side in (tools, later)]
    tracemalloc.start()
    begun = time.process_time()
    found = diff(*sides)
    seen = first_sight(sides[1])
    spent, peak = time.process_time() - begun, tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(found) == 2_000
    assert seen == []
    assert spent < CEILING_S
    assert peak < CEILING_BYTES


def test_many_parameters_that_all_change_their_names_end_soon() -> None:
    begun = time.process_time()
    sides = [
        {
            "type": "object",
            "properties": {f"{word}{place}": {"type": "string"} for place in range(2000)},
        }
        for word in ("alpha", "omega")
    ]
    assert kinds(schema_changes(*sides)) >= {"param_added_optional", "param_removed"}
    assert time.process_time() - begun < CEILING_S
