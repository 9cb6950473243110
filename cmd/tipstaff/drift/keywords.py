"""The keywords of JSON Schema: which constrain what type, which only say something, and which have no effect."""

from __future__ import annotations

from typing import Any

TYPES = frozenset({"array", "boolean", "integer", "null", "number", "object", "string"})
CHOICES = frozenset({"$ref", "allOf", "anyOf", "oneOf"})
VALUES = frozenset({"const", "enum"})
SILENT = frozenset(
    {
        "$comment",
        "default",
        "deprecated",
        "description",
        "examples",
        "readOnly",
        "title",
        "writeOnly",
    }
)
# Names, dialects and definitions: what is reached through them is compared where it is used.
IGNORED = frozenset(
    {
        "$schema",
        "$id",
        "id",
        "$anchor",
        "$dynamicAnchor",
        "$vocabulary",
        "$defs",
        "definitions",
        "type",
        "nullable",
    }
    | VALUES
)
_OF_TYPE = {
    "string": {
        "minLength",
        "maxLength",
        "pattern",
        "format",
        "contentEncoding",
        "contentMediaType",
        "contentSchema",
    },
    "number": {"lower", "upper", "multipleOf", "format"},
    "array": {
        "items",
        "prefixItems",
        "minItems",
        "maxItems",
        "uniqueItems",
        "contains",
        "minContains",
        "maxContains",
        "unevaluatedItems",
    },
    "object": {
        "properties",
        "required",
        "additionalProperties",
        "patternProperties",
        "minProperties",
        "maxProperties",
        "propertyNames",
        "dependentRequired",
        "dependentSchemas",
        "dependencies",
        "unevaluatedProperties",
    },
    "boolean": set(),
    "null": set(),
}
_OF_TYPE["integer"] = _OF_TYPE["number"]
_TYPED = frozenset(word for words in _OF_TYPE.values() for word in words)
_UNTYPED = frozenset({"not", "if", "then", "else", "$dynamicRef", "$recursiveRef"})
_SAFE_INTEGER = 2**53 - 1
# Keyword: the values with which it demands nothing.
_NO_EFFECT: dict[str, tuple[Any, ...]] = {
    "minLength": (0,),
    "minItems": (0,),
    "minProperties": (0,),
    "uniqueItems": (False,),
    "required": ([], None),
    "properties": ({}, None),
    "patternProperties": ({}, None),
    "additionalProperties": ({}, None, True),
    "unevaluatedProperties": ({}, True),
    "unevaluatedItems": ({}, True),
    "items": ({}, True),
    "prefixItems": ([],),
    "propertyNames": ({}, True, {"type": "string"}),
    "pattern": ("",),
    "dependentRequired": ({},),
    "dependentSchemas": ({},),
    "dependencies": ({},),
    "not": (False,),
}


def is_constraint(word: str) -> bool:
    """Whether a keyword of a cleaned schema limits what is accepted."""
    return (
        word[:1] == "("
        or word in _TYPED
        or word in _UNTYPED
        or word in BOUNDS
        or word == "additionalItems"
    )


_SHAPES = {"properties": dict, "patternProperties": dict, "required": list, "prefixItems": list}
BOUNDS = frozenset({"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"})


def relevant(words: dict[str, Any], kind: str) -> dict[str, Any]:
    """The keywords that matter to instances of a type."""
    if kind not in _OF_TYPE:
        return words
    return {
        word: value for word, value in words.items() if word in _OF_TYPE[kind] or word not in _TYPED
    }


def type_of(value: Any) -> str:
    """The JSON type of a value."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int):
        return "integer"
    kinds = {float: "number", str: "string", list: "array", dict: "object"}
    return kinds[type(value)]


def spelled(word: str, raw: dict[str, Any]) -> str:
    """The keyword of a schema as written that became a keyword of its cleaned form."""
    sides = {"lower": ("minimum", "exclusiveMinimum"), "upper": ("maximum", "exclusiveMaximum")}
    if word in sides:
        return next(name for name in sides[word] if name in raw)
    if word == "prefixItems" and word not in raw:
        return "items"
    if word == "items" and isinstance(raw.get("items"), list):
        return "additionalItems"
    return word[1:-1] if word[:1] == "(" else word


def clean(raw: dict[str, Any]) -> dict[str, Any]:
    """A schema's keywords without those that demand nothing, in the current dialect's words.

    Bounds become ``lower`` and ``upper``: a number, and whether the number itself is left out.
    """
    found = {
        word: value
        for word, value in raw.items()
        if word not in BOUNDS and not _is_idle(word, value)
    }
    for word, shape in _SHAPES.items():
        if word in found and not isinstance(found[word], shape):
            found[f"({word})"] = found.pop(word)
    if isinstance(found.get("items"), list):
        found["prefixItems"] = found.pop("items")
        if "additionalItems" in found:
            found["items"] = found["additionalItems"]
    found.pop("additionalItems", None)
    is_whole = raw.get("type") == "integer"
    for side, words in (
        ("lower", ("minimum", "exclusiveMinimum")),
        ("upper", ("maximum", "exclusiveMaximum")),
    ):
        bound = _bound(raw, words, side == "lower", is_whole)
        if bound is not None:
            found[side] = bound
    if is_whole and found.get("multipleOf") == 1:
        del found["multipleOf"]
    if isinstance(found.get("required"), list):
        found["required"] = sorted({name for name in found["required"] if isinstance(name, str)})
    return found


def _is_idle(word: str, value: Any) -> bool:
    return any(type(value) is type(idle) and value == idle for idle in _NO_EFFECT.get(word, ()))


def _bound(
    raw: dict[str, Any], words: tuple[str, str], is_lower: bool, is_whole: bool
) -> tuple[float, bool] | None:
    plain, strict = raw.get(words[0]), raw.get(words[1])
    bounds: list[tuple[float, bool]] = []
    if isinstance(plain, int | float) and not isinstance(plain, bool):
        bounds.append((plain, strict is True))
    if isinstance(strict, int | float) and not isinstance(strict, bool):
        bounds.append((strict, True))
    if not bounds:
        return None
    value, is_open = (
        max(bounds) if is_lower else min(bounds, key=lambda bound: (bound[0], not bound[1]))
    )
    if is_whole and is_open and isinstance(value, int):
        value, is_open = value + (1 if is_lower else -1), False
    reaches = -value if is_lower else value
    return None if is_whole and reaches >= _SAFE_INTEGER else (value, is_open)
