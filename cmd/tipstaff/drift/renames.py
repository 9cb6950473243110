"""Which of the things that went came back under another name: heuristics, for the message and for repair."""

from __future__ import annotations

import re
from collections import defaultdict
from difflib import SequenceMatcher
from typing import TYPE_CHECKING, Any

from tipstaff.documents import strict_json
from tipstaff.documents.base import Json

if TYPE_CHECKING:
    from tipstaff.drift.properties import Members
    from tipstaff.drift.schemas import Comparison

_SIMILAR = 0.6
_MOST_CANDIDATES = 50


def renamed_members(
    comparison: Comparison, old: Members, new: Members, gone: list[str], come: list[str]
) -> dict[str, str]:
    """Old name: new name, of members that accept the very same and are called or described alike."""
    found: dict[str, str] = {}
    taken: set[str] = set()
    for name in gone[:_MOST_CANDIDATES]:
        candidates = [
            (_closeness(name, old.schemas[name], other, new.schemas[other]), other)
            for other in come[:_MOST_CANDIDATES]
            if other not in taken
        ]
        for closeness, other in sorted(candidates, reverse=True):
            if closeness >= _SIMILAR and _accept_the_same(comparison, old, new, name, other):
                found[name] = other
                taken.add(other)
                break
    return found


def renamed_tools(gone: list[Json], come: list[Json]) -> list[tuple[Json, Json]]:
    """Pairs of a tool that went and the one that it came back as.

    Equal names but for case and separators, else equal bodies, else equal descriptions, or equal parameters under a
    name that is close.
    """
    pairs: list[tuple[Json, Json]] = []
    for key in (_plain_name, _body, _description, _parameters):
        waiting: dict[Any, list[Json]] = defaultdict(list)
        for tool in come:
            if (found := key(tool)) is not None:
                waiting[found].append(tool)
        for tool in list(gone):
            candidates = waiting.get(key(tool), [])[:_MOST_CANDIDATES]
            if not candidates:
                continue
            best = max(candidates, key=lambda other: _name_likeness(tool["name"], other["name"]))
            if key is _parameters and _name_likeness(tool["name"], best["name"]) < _SIMILAR:
                continue
            pairs.append((tool, best))
            waiting[key(tool)].remove(best)
            gone = [one for one in gone if one is not tool]
            come = [one for one in come if one is not best]
    return pairs


def _plain_name(tool: Json) -> str | None:
    return re.sub(r"[\W_]", "", tool["name"]).casefold() or None


def _body(tool: Json) -> bytes | None:
    rest = {
        key: value for key, value in tool.items() if key not in ("name", "title", "annotations")
    }
    return strict_json.canonical(rest) if len(rest) > 1 else None


def _description(tool: Json) -> str | None:
    text = tool.get("description")
    return text if isinstance(text, str) and len(text) >= 20 else None


def _parameters(tool: Json) -> bytes | None:
    schema = tool.get("inputSchema")
    properties = schema.get("properties") if isinstance(schema, dict) else None
    return (
        strict_json.canonical(properties) if isinstance(properties, dict) and properties else None
    )


def _accept_the_same(
    comparison: Comparison, old: Members, new: Members, name: str, other: str
) -> bool:
    trial = comparison.trial()
    trial.parts(old.schemas[name], old.path_of(name), new.schemas[other], new.path_of(other), None)
    return not (trial.loses or trial.gains)


def _closeness(name: str, schema: Any, other: str, other_schema: Any) -> float:
    words = [
        part.get("description") if isinstance(part, dict) else None
        for part in (schema, other_schema)
    ]
    if words[0] and words[0] == words[1]:
        return 1 + _name_likeness(name, other)
    return _name_likeness(name, other)


def _name_likeness(name: str, other: str) -> float:
    parts = [set(_parts(text)) for text in (name, other)]
    if parts[0] and parts[1] and (parts[0] <= parts[1] or parts[1] <= parts[0]):
        return 1.0
    return SequenceMatcher(None, name.lower(), other.lower()).ratio()


def _parts(name: str) -> list[str]:
    """The words of a name, one and many of a thing alike."""
    words = re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+", name)
    return [word.lower().removesuffix("s") if len(word) > 3 else word.lower() for word in words]
