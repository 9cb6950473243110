"""What upgrades do that is hard for any differ: everything gets another name, or another shape that accepts as much."""

from __future__ import annotations

from typing import Any

from support.contracts import (
    capture,
    changes,
    gist,
    kinds,
    parameter_changes,
    properties,
    taken,
)
from tipstaff.drift.diff import diff

Capture = dict[str, Any]


def test_every_tool_renamed_by_its_separator_is_renames() -> None:
    def rename(value: Capture) -> None:
        for tool in value["tools"]:
            tool["name"] = tool["name"].replace("_", "-")

    found = changes(rename)
    assert kinds(found) == {"tool_renamed"}
    assert {(change.before, change.after) for change in found} == {
        ("get_forecast", "get-forecast"),
        ("list_stations", "list-stations"),
    }


def test_every_tool_from_camel_case_to_dashes_is_renames() -> None:
    old = [
        {"name": name, "inputSchema": {"type": "object"}} for name in ("getTinyImage", "printEnv")
    ]
    new = [
        {**tool, "name": name}
        for tool, name in zip(old, ("get-tiny-image", "print-env"), strict=True)
    ]
    found = diff(taken(capture(*old)), taken(capture(*new)))
    assert {(change.kind, change.before, change.after) for change in found} == {
        ("tool_renamed", "getTinyImage", "get-tiny-image"),
        ("tool_renamed", "printEnv", "print-env"),
    }


def test_tool_of_the_same_words_under_another_name_is_a_rename() -> None:
    found = changes(lambda c: c["tools"][0].update(name="query_weather"))
    assert gist(found) == [("tool_renamed", "/name")]


def test_tool_of_the_same_parameters_under_a_longer_name_is_a_rename() -> None:
    def tool(name: str, words: str, **more: Any) -> Any:
        schema = {"type": "object", "properties": {"steps": {"type": "integer"}}, **more}
        return {"name": name, "description": words, "inputSchema": schema}

    old = tool("longRunningOperation", "Runs for long", additionalProperties=False)
    new = tool("trigger-long-running-operation", "Runs for long.")
    found = diff(taken(capture(old)), taken(capture(new)))
    assert ("tool_renamed", "/name") in gist(found)
    assert not kinds(found) & {"tool_added", "tool_removed"}


def test_parameter_described_alike_under_another_name_is_a_rename() -> None:
    def rename(value: Capture) -> None:
        properties(value)["target"] = properties(value).pop("location")
        value["tools"][0]["inputSchema"]["required"] = ["target"]

    [found] = changes(rename)
    assert (found.kind, found.before, found.after) == ("param_renamed", "location", "target")


def test_address_or_any_text_is_any_text() -> None:
    text = {"type": "string"}
    either = {"anyOf": [{**text, "format": "uri"}, text]}
    assert (
        kinds(parameter_changes(either, text))
        == kinds(parameter_changes(text, either))
        == {"equivalent_rewrite"}
    )


def test_branch_for_text_beside_an_object_is_a_widening() -> None:
    entry = {"type": "object", "properties": {"id": {"type": "string"}}}
    found = parameter_changes(entry, {"anyOf": [entry, {"type": "string"}]})
    assert gist(found) == [("constraint_loosened", "/inputSchema/properties/x/anyOf")]


def test_change_inside_one_of_several_shapes_is_found_where_it_is() -> None:
    def union(kind: str) -> Any:
        shapes = [
            {
                "type": "object",
                "properties": {"kind": {"const": "a"}, "size": {"type": kind}},
                "required": ["kind"],
            },
            {"type": "object", "properties": {"kind": {"const": "b"}}, "required": ["kind"]},
        ]
        return {"type": "array", "items": {"oneOf": shapes}}

    found = parameter_changes(union("integer"), union("string"))
    assert gist(found) == [
        ("type_changed", "/inputSchema/properties/x/items/oneOf/0/properties/size/type")
    ]


def test_listed_values_turned_into_shapes_are_another_type() -> None:
    listed = {"type": "array", "items": {"enum": ["markdown", "html"]}}
    shapes = {
        "type": "array",
        "items": {"anyOf": [{"type": "object", "properties": {"type": {"const": "markdown"}}}]},
    }
    assert kinds(parameter_changes(listed, shapes)) == {"type_changed"}
    assert kinds(parameter_changes(shapes, listed)) == {"type_changed"}


def test_pattern_that_became_another_has_no_direction() -> None:
    sides = [{"type": "string", "pattern": text} for text in ("^a+$", "^[ab]$")]
    [found] = parameter_changes(*sides)
    assert (found.kind, found.facts["direction"]) == ("constraint_tightened", "unknown")
