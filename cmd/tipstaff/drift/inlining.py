"""A schema with its local references written out, for keywords that can only be compared as they stand."""

from __future__ import annotations

from typing import Any

from tipstaff.drift.shapes import Document


def inlined(value: Any, document: Document, active: frozenset[str] = frozenset()) -> Any:
    """The value with each local reference replaced by its target; a cycle keeps its reference."""
    document.spend()
    if isinstance(value, list):
        return [inlined(item, document, active) for item in value]
    if not isinstance(value, dict):
        return value
    target = document.target(value.get("$ref"))
    if target is not None and target[1] not in active:
        rest = {key: item for key, item in value.items() if key != "$ref"}
        part = inlined(target[0], document, active | {target[1]})
        if not rest:
            return part
        return {"allOf": [part], **inlined(rest, document, active)}
    return {key: inlined(item, document, active) for key, item in value.items()}
