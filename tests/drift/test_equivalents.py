"""Two spellings of one schema are a rewrite that means the same, and no more."""

from __future__ import annotations

from typing import Any

import pytest

from support.contracts import kinds, parameter_changes, schema_changes

INT = {"type": "integer"}
STR = {"type": "string"}
CITY = {"type": "object", "properties": {"name": STR}}
TREE = {"type": "object", "properties": {"kids": {"type": "array", "items": {"$ref": "#/$defs/T"}}}}
PARAMETERS: dict[str, tuple[Any, Any]] = {
    "null as a type or as a choice": (
        {"type": ["string", "null"]},
        {"anyOf": [STR, {"type": "null"}]},
    ),
    "null as a type or by OpenAPI's word": (
        {"type": ["string", "null"]},
        {"type": "string", "nullable": True},
    ),
    "null as a type or as the default": (
        {"type": ["integer", "null"], "default": None},
        {"type": "integer", "default": None},
    ),
    "one type in a list": (STR, {"type": ["string"]}),
    "types in another order": ({"type": ["string", "integer"]}, {"type": ["integer", "string"]}),
    "types as choices": ({"type": ["string", "integer"]}, {"anyOf": [INT, STR]}),
    "choices in another order": ({"anyOf": [STR, INT]}, {"anyOf": [INT, STR]}),
    "one choice": (STR, {"anyOf": [STR]}),
    "a choice that another one holds": ({"anyOf": [{"type": "string", "format": "uri"}, STR]}, STR),
    "exclusive choices of other types": ({"oneOf": [STR, INT]}, {"anyOf": [STR, INT]}),
    "all of one": (STR, {"allOf": [STR]}),
    "parts put together": ({"type": "string", "minLength": 1}, {"allOf": [STR, {"minLength": 1}]}),
    "members put together": (
        {"type": "object", "properties": {"a": STR, "b": INT}, "required": ["a", "b"]},
        {
            "type": "object",
            "allOf": [
                {"properties": {"a": STR}, "required": ["a"]},
                {"properties": {"b": INT}, "required": ["b"]},
            ],
        },
    ),
    "a constant or one listed value": ({"const": "a"}, {"enum": ["a"]}),
    "listed values with their type": ({"enum": ["a", "b"]}, {"type": "string", "enum": ["a", "b"]}),
    "listed values as choices": ({"enum": ["a", "b"]}, {"anyOf": [{"const": "b"}, {"const": "a"}]}),
    "listed values in another order": ({"enum": ["a", "b"]}, {"enum": ["b", "a"]}),
    "a listed null": (
        {"type": ["string", "null"], "enum": ["a", None]},
        {"anyOf": [{"enum": ["a"]}, {"type": "null"}]},
    ),
    "true or an empty schema": ({}, True),
    "an empty list of required members": (CITY, {**CITY, "required": []}),
    "null for the required members": (CITY, {**CITY, "required": None}),
    "no members": ({"type": "object"}, {"type": "object", "properties": {}}),
    "any others": (CITY, {**CITY, "additionalProperties": True}),
    "any others by an empty schema": (CITY, {**CITY, "additionalProperties": {}}),
    "names that are strings": (CITY, {**CITY, "propertyNames": STR}),
    "the largest safe integer": (INT, {**INT, "maximum": 2**53 - 1, "minimum": 1 - 2**53}),
    "an open bound of an integer": ({**INT, "minimum": 1}, {**INT, "exclusiveMinimum": 0}),
    "draft 4's open bound": (
        {"type": "number", "exclusiveMinimum": 5},
        {"type": "number", "minimum": 5, "exclusiveMinimum": True},
    ),
    "a length of none": (STR, {**STR, "minLength": 0}),
    "a keyword of another type": (STR, {**STR, "maximum": 5}),
    "draft 7's tuple": ({"type": "array", "prefixItems": [STR]}, {"type": "array", "items": [STR]}),
    "a generated title": (STR, {**STR, "title": "X"}),
    "no default and null": (
        {"type": ["string", "null"]},
        {"type": ["string", "null"], "default": None},
    ),
}
ROOTS: dict[str, tuple[Any, Any]] = {
    "a definition written out": (
        {"type": "object", "properties": {"a": {"$ref": "#/$defs/C"}}, "$defs": {"C": CITY}},
        {"type": "object", "properties": {"a": CITY}},
    ),
    "a definition called otherwise": (
        {"type": "object", "properties": {"a": {"$ref": "#/$defs/C"}}, "$defs": {"C": CITY}},
        {
            "type": "object",
            "properties": {"a": {"$ref": "#/definitions/D"}},
            "definitions": {"D": CITY},
        },
    ),
    "a reference to another parameter": (
        {"type": "object", "properties": {"a": CITY, "b": {"$ref": "#/properties/a"}}},
        {"type": "object", "properties": {"a": CITY, "b": CITY}},
    ),
    "a recursive definition from its root": (
        {"type": "object", "properties": {"t": {"$ref": "#/$defs/T"}}, "$defs": {"T": TREE}},
        {"type": "object", "properties": {"t": TREE}, "$defs": {"T": TREE}},
    ),
    "the dialect": (
        {"type": "object"},
        {"type": "object", "$schema": "http://json-schema.org/draft-07/schema#"},
    ),
    "a definition that nothing reaches": (
        {"type": "object"},
        {"type": "object", "$defs": {"Unused": CITY}},
    ),
    "the title of the whole": ({"type": "object"}, {"type": "object", "title": "aArguments"}),
    "what must be given in another order": (
        {"type": "object", "properties": {"a": STR, "b": STR}, "required": ["a", "b"]},
        {"type": "object", "properties": {"a": STR, "b": STR}, "required": ["b", "a"]},
    ),
    "a default that may be left out all the same": (
        {"type": "object", "properties": {"a": {**STR, "default": "x"}}},
        {"type": "object", "properties": {"a": {**STR, "default": "x"}}, "required": ["a"]},
    ),
}


@pytest.mark.promise("BR-07", "M1", "ahead 1")
@pytest.mark.parametrize("name", PARAMETERS)
def test_two_spellings_of_a_parameter_mean_the_same(name: str) -> None:
    old, new = PARAMETERS[name]
    assert kinds(parameter_changes(old, new)) == {"equivalent_rewrite"}
    assert kinds(parameter_changes(new, old)) == {"equivalent_rewrite"}


@pytest.mark.promise("BR-07", "M1")
@pytest.mark.parametrize("name", ROOTS)
def test_two_spellings_of_a_schema_mean_the_same(name: str) -> None:
    old, new = ROOTS[name]
    assert kinds(schema_changes(old, new)) == {"equivalent_rewrite"}
    assert kinds(schema_changes(new, old)) == {"equivalent_rewrite"}


@pytest.mark.promise("BR-07")
def test_one_and_one_point_naught_are_one_number() -> None:
    assert parameter_changes({**INT, "maximum": 1}, {**INT, "maximum": 1.0}) == []


def test_overlapping_shapes_of_which_one_must_match_are_no_plain_choice() -> None:
    twice = {"anyOf": [{"oneOf": [STR, STR]}]}
    [found] = parameter_changes(STR, twice)
    assert (found.kind, found.facts["direction"]) != ("equivalent_rewrite", "none")
    overlapping = {"oneOf": [STR, {"type": "string", "minLength": 2}]}
    [found] = parameter_changes({"oneOf": [STR, INT]}, {"oneOf": [*overlapping["oneOf"], INT]})
    assert found.facts["direction"] == "unknown"


def test_member_of_one_of_several_parts_is_found_where_it_is() -> None:
    parts = [{"properties": {"a": STR}}, {"properties": {"b": STR}}]
    old = {"type": "object", "allOf": parts}
    new = {"type": "object", "allOf": [parts[0], {"properties": {"b": INT}}]}
    [found] = parameter_changes(old, new)
    assert found.path == "/inputSchema/properties/x/allOf/1/properties/b/type"


@pytest.mark.parametrize("back", [False, True])
def test_values_that_are_listed_now_are_found_at_their_list(back: bool) -> None:
    sides = [STR, {**STR, "enum": ["a"]}]
    [found] = parameter_changes(*(reversed(sides) if back else sides))
    assert found.path == "/inputSchema/properties/x/enum"
    assert (found.before, found.after) == ((["a"], None) if back else (None, ["a"]))


def test_true_and_one_are_two_values() -> None:
    assert kinds(parameter_changes({"enum": [1]}, {"enum": [True]})) == {
        "constraint_loosened",
        "constraint_tightened",
    }


@pytest.mark.promise("BR-07")
def test_parameters_called_like_keywords_are_parameters() -> None:
    names = {"type": STR, "properties": STR, "title": STR, "description": STR, "$ref": STR}
    old = {"type": "object", "properties": names}
    for name in names:
        new = {"type": "object", "properties": {**names, name: INT}}
        [found] = schema_changes(old, new)
        assert (found.kind, found.path) == (
            "type_changed",
            f"/inputSchema/properties/{name}/type",
        )


@pytest.mark.promise("BR-07")
@pytest.mark.parametrize(
    "shape",
    [
        {"type": 5},
        {"type": ["string", 5]},
        {"type": "strng"},
        {"properties": []},
        {"required": "a"},
        {"required": [5, None]},
        {"enum": "a"},
        {"anyOf": {}},
        {"anyOf": []},
        {"allOf": 5},
        {"oneOf": [5, "x", None]},
        {"items": 5},
        {"$ref": 5},
        {"$ref": "#/nowhere"},
        {"$ref": "#"},
        {"$ref": "#/properties/x"},
        {"$ref": "https://example.com/schema"},
        {"anyOf": [{"$ref": "#/properties/x"}, STR]},
        {"minimum": "1", "maximum": None},
        {"type": "array", "prefixItems": {}},
        {"patternProperties": 3},
        {"additionalProperties": "no"},
        {"multipleOf": 0},
        {"type": "string", "maxLength": "5"},
        False,
        5,
        "x",
        None,
        [],
    ],
    ids=str,
)
def test_malformed_schema_is_compared_and_never_a_crash(shape: Any) -> None:
    assert parameter_changes(STR, shape)
    assert parameter_changes(shape, STR)
    assert parameter_changes(shape, shape) == []
    assert parameter_changes({"type": "array", "items": shape}, {"type": "array", "items": INT})
