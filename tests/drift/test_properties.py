"""For any contract: other spellings are rewrites, edits are found, order is nothing, and back mirrors forth."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from support.contracts import capture, kinds, taken
from tipstaff.documents import strict_json
from tipstaff.drift.change import Change
from tipstaff.drift.diff import diff

MIRRORS = {
    "tool_added": "tool_removed",
    "required_added": "required_removed",
    "constraint_loosened": "constraint_tightened",
    "param_added": "param_removed",
}
MIRRORS |= {there: here for here, there in MIRRORS.items()}
DIRECTIONS = {"narrows": "widens", "widens": "narrows"}
checked = settings(
    max_examples=60,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
names = st.sampled_from(["type", "title", "city", "days", "$ref", "a/b", "properties", "é"])
words = st.sampled_from(["", "A place.", "The number of days → all.", "x" * 40])
LEAVES = st.one_of(
    st.fixed_dictionaries(
        {"type": st.just("string")},
        optional={"minLength": st.integers(0, 3), "pattern": st.just("^a")},
    ),
    st.fixed_dictionaries(
        {"type": st.sampled_from(["integer", "number"])},
        optional={"minimum": st.integers(0, 3), "maximum": st.integers(4, 9)},
    ),
    st.fixed_dictionaries(
        {
            "enum": st.lists(
                st.sampled_from(["a", "b", 1, True, None, 2.5]),
                min_size=1,
                max_size=4,
                unique_by=repr,
            )
        }
    ),
    st.fixed_dictionaries(
        {
            "type": st.lists(
                st.sampled_from(["string", "null", "boolean"]), min_size=1, max_size=3, unique=True
            )
        }
    ),
    st.just({"$ref": "#/$defs/Shared"}),
    st.booleans(),
)


def _wider(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.one_of(
        objects(inner),
        st.fixed_dictionaries({"type": st.just("array"), "items": inner}),
        st.fixed_dictionaries({"anyOf": st.lists(inner, min_size=1, max_size=3)}),
    )


@st.composite
def objects(draw: st.DrawFn, inner: st.SearchStrategy[Any]) -> Any:
    """Schemas of objects."""
    members = draw(st.dictionaries(names, inner, max_size=4))
    found: dict[str, Any] = {"type": "object", "properties": members}
    if members and draw(st.booleans()):
        found["required"] = draw(st.lists(st.sampled_from(sorted(members)), unique=True))
    if draw(st.booleans()):
        found["additionalProperties"] = draw(st.booleans())
    if draw(st.booleans()):
        found["description"] = draw(words)
    return found


schemas = st.recursive(LEAVES, _wider, max_leaves=6)
SHARED = {
    "type": "object",
    "properties": {"id": {"type": "string"}, "next": {"$ref": "#/$defs/Shared"}},
}


@st.composite
def tools(draw: st.DrawFn, name: str = "a") -> Any:
    """Tools with a schema of any shape, and sometimes more."""
    found = {"name": name, "inputSchema": {**draw(objects(schemas)), "$defs": {"Shared": SHARED}}}
    if draw(st.booleans()):
        found["outputSchema"] = {**draw(objects(schemas)), "$defs": {"Shared": SHARED}}
    if draw(st.booleans()):
        found["annotations"] = draw(
            st.dictionaries(st.sampled_from(["readOnlyHint", "destructiveHint"]), st.booleans())
        )
    return {**found, "description": draw(words)}


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The paths of every schema in a schema."""
    if not isinstance(value, dict):
        return []
    found = [path]
    for name, inner in value.get("properties", {}).items():
        found += places(inner, (*path, "properties", name))
    if isinstance(value.get("items"), dict):
        found += places(value["items"], (*path, "items"))
    for place, inner in enumerate(value.get("anyOf", ())):
        found += places(inner, (*path, "anyOf", place))
    return found


def at(value: Any, path: tuple[Any, ...]) -> Any:
    """What a path leads to."""
    for step in path:
        value = value[step]
    return value


def rewritten(schema: dict[str, Any], way: int) -> dict[str, Any]:
    """The schema in another spelling of the same."""
    kind = schema.get("type")
    if way == 0 and isinstance(kind, str) and schema.keys() == {"type"}:
        return {"anyOf": [schema]}
    if way == 1 and isinstance(kind, str):
        return {**schema, "type": [kind]}
    if way == 2 and kind == "object":
        return {**schema, "required": list(reversed(schema.get("required", [])))}
    if way == 3 and "additionalProperties" not in schema and kind == "object":
        return {**schema, "additionalProperties": {}}
    if way == 4 and isinstance(kind, list):
        return {"anyOf": [{"type": one} for one in reversed(kind)]}
    if way == 5 and "enum" in schema:
        return {"anyOf": [{"const": one} for one in schema["enum"]]}
    if way == 6 and isinstance(schema.get("anyOf"), list):
        return {**schema, "anyOf": [*reversed(schema["anyOf"])]}
    if way == 7 and schema == {"$ref": "#/$defs/Shared"}:
        return SHARED
    return {**schema, "allOf": [{}]} if "$ref" not in schema else {"allOf": [schema]}


EDITS = [
    lambda schema: schema.update(description="Another text that was not there."),
    lambda schema: schema.update({"x-unknown": 5}),
    lambda schema: schema.update(default="another default"),
    lambda schema: schema.update({"not": {"const": 77}}),
    lambda schema: schema.update(enum=["quite", "another"]),
]


def edit(tool: Any, path: tuple[Any, ...], change: Any) -> Any:
    """A copy of the tool with one schema changed."""
    copied = copy.deepcopy(tool)
    change(at(copied["inputSchema"], path))
    return copied


def found_between(old: Any, new: Any) -> list[Change]:
    """The changes from one tool to another; their digests agree with whether there are any."""
    sides = [taken(capture(side)) for side in (old, new)]
    found = diff(*sides)
    assert (sides[0].digest != sides[1].digest) == bool(found)
    return found


@checked
@given(tools())
def test_contract_is_no_different_from_itself(tool: Any) -> None:
    assert found_between(tool, copy.deepcopy(tool)) == []


@checked
@given(tools(), st.data())
@pytest.mark.promise("M1", "BR-07")
def test_other_spelling_is_no_more_than_a_rewrite(tool: Any, data: st.DataObject) -> None:
    path = data.draw(st.sampled_from(places(tool["inputSchema"])[1:] or [()]))
    way = data.draw(st.integers(0, 8))
    new = copy.deepcopy(tool)
    target = at(new["inputSchema"], path)
    spelled = rewritten(copy.deepcopy(target), way)
    if path:
        at(new["inputSchema"], path[:-1])[path[-1]] = spelled
    else:
        new["inputSchema"] = spelled
    assert kinds(found_between(tool, new)) <= {"equivalent_rewrite"}
    assert kinds(found_between(new, tool)) <= {"equivalent_rewrite"}


@checked
@given(tools(), st.data())
@pytest.mark.promise("M1", "BR-02")
def test_edit_of_any_schema_is_found_and_is_no_rewrite(tool: Any, data: st.DataObject) -> None:
    path = data.draw(st.sampled_from(places(tool["inputSchema"])))
    new = edit(tool, path, data.draw(st.sampled_from(EDITS)))
    found = found_between(tool, new)
    if "enum" not in str(at(tool["inputSchema"], path)) and "anyOf" not in path:
        assert kinds(found) - {"equivalent_rewrite"}


@checked
@given(tools(), tools("b"), st.randoms(use_true_random=False))
def test_order_is_nothing(one: Any, other: Any, random: Any) -> None:
    def turned(value: Any) -> Any:
        if isinstance(value, dict):
            keys = list(value)
            random.shuffle(keys)
            return {key: turned(value[key]) for key in keys}
        return [turned(item) for item in value] if isinstance(value, list) else value

    assert diff(taken(capture(one, other)), taken(capture(turned(other), turned(one)))) == []


@checked
@given(tools(), tools())
def test_way_back_mirrors_the_way_there(old: Any, new: Any) -> None:
    def seen(found: list[Change], *, back: bool = False) -> set[tuple[Any, ...]]:
        sides = set()
        for change in found:
            kind = (
                change.kind.removesuffix("_optional").removesuffix("_required")
                if "param_added" in change.kind
                else change.kind
            )
            direction = change.facts["direction"]
            if kind in ("constraint_tightened", "constraint_loosened") and direction == "unknown":
                kind = "constraint"
            if "param" in kind or kind == "output_changed":
                direction = ""
            if back:
                kind, direction = MIRRORS.get(kind, kind), DIRECTIONS.get(direction, direction)
            if change.kind not in ("equivalent_rewrite", "hidden_text", "description_changed"):
                sides.add((kind, direction))
        return sides

    assert seen(found_between(old, new)) == seen(found_between(new, old), back=True)


@checked
@given(tools(), tools())
def test_every_path_leads_somewhere_in_one_of_the_tools(old: Any, new: Any) -> None:
    sides = [taken(capture(side)).tools[0] for side in (old, new)]
    for change in found_between(old, new):
        assert any(resolves(side, change.path) for side in sides), change


def resolves(value: Any, path: str) -> bool:
    """Whether a JSON pointer leads to something."""
    for part in path.split("/")[1:]:
        step = part.replace("~1", "/").replace("~0", "~")
        if isinstance(value, list):
            if not (step.isdecimal() and int(step) < len(value)):
                return False
            value = value[int(step)]
        elif isinstance(value, dict) and step in value:
            value = value[step]
        else:
            return False
    return True


@checked
@given(tools())
def test_digest_covers_every_byte_but_the_time(tool: Any) -> None:
    one, later = (
        taken(capture(tool)),
        taken(capture(tool)).model_copy(update={"captured_at": "2027-01-01T00:00:00Z"}),
    )
    assert one.digest == later.digest
    assert strict_json.canonical(one.tools[0]) == strict_json.canonical(later.tools[0])
