"""An independent judge: what jsonschema accepts of one schema and refuses of the other is such a change."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from support.contracts import schema_changes

checked = settings(
    max_examples=150,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
SCALARS = [None, True, False, 0, 1, 2, 3, 5, 9, -1, 1.5, 2.5, "", "a", "ab", "abc", "b", "zz"]
NAMES = ["p", "q", "r"]
LEAVES = st.one_of(
    st.fixed_dictionaries(
        {"type": st.just("string")},
        optional={
            "minLength": st.integers(0, 3),
            "maxLength": st.integers(1, 4),
            "pattern": st.sampled_from(["^a", "b"]),
        },
    ),
    st.fixed_dictionaries(
        {"type": st.sampled_from(["integer", "number"])},
        optional={
            "minimum": st.integers(-1, 3),
            "maximum": st.integers(2, 9),
            "exclusiveMinimum": st.integers(-1, 3),
            "multipleOf": st.sampled_from([1, 2, 4]),
        },
    ),
    st.fixed_dictionaries(
        {"enum": st.lists(st.sampled_from(SCALARS), min_size=1, max_size=4, unique_by=repr)}
    ),
    st.fixed_dictionaries({"const": st.sampled_from(SCALARS)}),
    st.fixed_dictionaries(
        {
            "type": st.lists(
                st.sampled_from(
                    ["string", "null", "boolean", "integer", "number", "object", "array"]
                ),
                min_size=1,
                max_size=3,
                unique=True,
            )
        }
    ),
    st.fixed_dictionaries(
        {}, optional={"minLength": st.integers(1, 2), "minimum": st.integers(1, 3)}
    ),
    st.sampled_from([True, {"not": {"type": "string"}}, {"not": {"type": "integer"}}]),
    st.just({"$ref": "#/$defs/D"}),
)


def _wider(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    members = st.dictionaries(st.sampled_from(NAMES), inner, max_size=3)
    return st.one_of(
        st.fixed_dictionaries(
            {"type": st.just("object"), "properties": members},
            optional={
                "required": st.lists(st.sampled_from(NAMES), unique=True),
                "additionalProperties": st.booleans(),
            },
        ),
        st.fixed_dictionaries(
            {"type": st.just("array"), "items": inner},
            optional={
                "minItems": st.integers(0, 2),
                "maxItems": st.integers(1, 3),
                "uniqueItems": st.booleans(),
            },
        ),
        st.fixed_dictionaries(
            {"type": st.just("array"), "prefixItems": st.lists(inner, min_size=1, max_size=2)}
        ),
        st.fixed_dictionaries(
            {"anyOf": st.lists(inner, min_size=1, max_size=3)},
            optional={"type": st.sampled_from(["string", "object", "integer"])},
        ),
        st.fixed_dictionaries({"oneOf": st.lists(inner, min_size=1, max_size=3)}),
        st.fixed_dictionaries({"allOf": st.lists(inner, min_size=1, max_size=2)}),
    )


SCHEMAS = st.recursive(LEAVES, _wider, max_leaves=6)


def instances() -> Iterator[Any]:
    """Values of every type, and objects and arrays of them whose members both schemas may name."""
    yield from SCALARS
    some = [None, True, 0, 2, 5, 2.5, "", "a", "abc", {"p": "a"}, ["a"]]
    for one in some:
        yield [one]
        yield [one, one]
        yield {"p": one}
        yield {"q": one}
        for other in some[:9:2]:
            yield [one, other]
            yield {"p": one, "q": other}
            yield {"p": one, "q": other, "r": one}
            yield {"p": {"p": one, "q": other}}
    yield from (
        [],
        {},
        [[]],
        [{}],
        [["a"], ["b"]],
        ["a", "b", "ab"],
        [1, 2, 3, 4],
        {"p": {}, "q": {}, "r": {}},
    )


INSTANCES = list(instances())


def accepted(schema: Any) -> list[bool]:
    """Which of the instances a schema accepts."""
    validator = Draft202012Validator(schema)
    return [validator.is_valid({"x": instance}) for instance in INSTANCES]


def names_of(schema: Any) -> set[str]:
    """Every name of a member that a schema describes anywhere."""
    if isinstance(schema, list):
        return set().union(*map(names_of, schema)) if schema else set()
    if not isinstance(schema, dict):
        return set()
    own = set(schema.get("properties", {})) if isinstance(schema.get("properties"), dict) else set()
    return own.union(*(names_of(value) for value in schema.values())) if schema else own


@checked
@given(SCHEMAS, SCHEMAS, SCHEMAS, SCHEMAS)
@pytest.mark.promise("M1", "BR-02", "BR-07")
def test_what_was_accepted_and_is_refused_narrows_and_the_other_way_widens(
    old: Any, new: Any, old_shared: Any, new_shared: Any
) -> None:
    sides = [
        {"type": "object", "properties": {"x": x}, "required": ["x"], "$defs": {"D": shared}}
        for x, shared in ((old, _plain(old_shared)), (new, _plain(new_shared)))
    ]
    found = schema_changes(*sides)
    directions = {change.facts["direction"] for change in found}
    kinds = {change.kind for change in found}
    # An optional member more is for information, though an open object took anything under its name before.
    if kinds & {"param_added_optional", "param_removed", "param_renamed"}:
        return
    pairs = list(zip(INSTANCES, accepted(sides[0]), accepted(sides[1]), strict=True))
    lost = [instance for instance, before, after in pairs if before and not after]
    won = [instance for instance, before, after in pairs if after and not before]
    assert not lost or directions & {"narrows", "unknown"}, (lost[0], found)
    assert not won or directions & {"widens", "unknown"}, (won[0], found)


def _plain(schema: Any) -> Any:
    """A definition that refers to nothing, so that it does not end in itself."""
    return {"type": "string"} if "$ref" in repr(schema) else schema
