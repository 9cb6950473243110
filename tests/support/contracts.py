"""Small contracts of our own, and what changed between two of them."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

from tipstaff.documents.capture import from_capture
from tipstaff.documents.contract import Snapshot
from tipstaff.drift.change import Change
from tipstaff.drift.diff import diff

Tool = dict[str, Any]
TIME = "2026-01-01T00:00:00Z"
FORECAST: Tool = {
    "name": "get_forecast",
    "title": "Forecast",
    "description": "Forecast for a place.",
    "inputSchema": {
        "type": "object",
        "properties": {
            "location": {"type": "string", "description": "The place."},
            "days": {"type": "integer", "minimum": 1, "maximum": 14, "default": 3},
            "units": {"type": "string", "enum": ["metric", "imperial", "kelvin"]},
            "pattern": {"type": "string", "pattern": "^[a-z]+$"},
            "filter": {
                "type": "object",
                "properties": {
                    "city": {"type": "string"},
                    "tags": {"type": "array", "items": {"type": "string"}, "maxItems": 5},
                },
            },
            "station": {"$ref": "#/$defs/Station"},
        },
        "required": ["location"],
        "$defs": {
            "Station": {
                "type": "object",
                "properties": {"id": {"type": "string"}},
                "required": ["id"],
            },
            "Other": {
                "type": "object",
                "properties": {"id": {"type": "integer"}},
                "required": ["id"],
            },
        },
    },
    "outputSchema": {
        "type": "object",
        "properties": {"degrees": {"type": "number"}, "words": {"type": "string"}},
        "required": ["degrees"],
    },
    "annotations": {"readOnlyHint": True, "openWorldHint": True},
}
STATIONS: Tool = {
    "name": "list_stations",
    "description": "All stations.",
    "inputSchema": {"type": "object", "properties": {"country": {"type": "string"}}},
}


def capture(*tools: Tool, **members: Any) -> dict[str, Any]:
    """A capture of a server with these tools, else with two about the weather."""
    return {"tools": copy.deepcopy(list(tools) or [FORECAST, STATIONS]), **copy.deepcopy(members)}


def taken(value: Any, name: str = "weather") -> Snapshot:
    """A snapshot of a capture."""
    return from_capture(value, name, TIME)


def edited(
    edit: Callable[[dict[str, Any]], object], *tools: Tool, **members: Any
) -> dict[str, Any]:
    """The capture after an edit in place."""
    value = capture(*tools, **members)
    edit(value)
    return value


def changes(edit: Callable[[dict[str, Any]], object], *tools: Tool, **members: Any) -> list[Change]:
    """What an edit of a server's capture is found to change."""
    return diff(taken(capture(*tools, **members)), taken(edited(edit, *tools, **members)))


def schema_changes(old: Any, new: Any, member: str = "inputSchema") -> list[Change]:
    """What is found between two schemas of one tool."""
    sides = [{"name": "a", "inputSchema": {"type": "object"}, member: side} for side in (old, new)]
    return diff(*(taken(capture(side)) for side in sides))


def parameter_changes(old: Any, new: Any, **root: Any) -> list[Change]:
    """What is found between two schemas of the one parameter ``x`` of a tool; ``root`` are members around it."""
    sides = [{"type": "object", "properties": {"x": side}, **root} for side in (old, new)]
    return schema_changes(*sides)


def gist(found: list[Change]) -> list[tuple[str, str]]:
    """Kind and path of each change."""
    return [(change.kind, change.path) for change in found]


def kinds(found: list[Change]) -> set[str]:
    """The kinds of the changes."""
    return {change.kind for change in found}


def properties(value: dict[str, Any], place: int = 0) -> dict[str, Any]:
    """The parameters of a tool in a capture."""
    found: dict[str, Any] = value["tools"][place]["inputSchema"]["properties"]
    return found
