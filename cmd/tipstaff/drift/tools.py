"""What changed in one tool: its words, its schemas, its hints, and whatever else it says of itself."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from tipstaff.documents.base import Json
from tipstaff.documents.pointer import pointer
from tipstaff.drift.change import ABOUT, INPUT, NARROWS, NONE, OUTPUT, UNKNOWN, WIDENS, Change
from tipstaff.drift.schemas import Difference, compare
from tipstaff.drift.spots import Spot, equal, spots

_SCHEMAS = {"inputSchema": INPUT, "outputSchema": OUTPUT}
_WORDS = {"description": "description_changed", "title": "title_changed"}
# What MCP says a hint means where it is left out; the second two matter only to tools that write.
_HINTS = {
    "readOnlyHint": False,
    "openWorldHint": True,
    "destructiveHint": True,
    "idempotentHint": False,
}
_OF_WRITERS = ("destructiveHint", "idempotentHint")
_TASKS = {"forbidden": {"plain"}, "optional": {"plain", "task"}, "required": {"task"}}


def compare_tools(old: Json, new: Json) -> list[Change]:
    """Every difference between two versions of one tool, under the new one's name."""
    name = new["name"]
    found = [change for part in (_members, _schemas, _hints, _tasks) for change in part(old, new)]
    rest = list(_unexplained(old, new, found))
    found += _words_out_of_reach(old, rest, name)
    found += _rewrites(_unexplained(old, new, found), name)
    return found


def hints(tool: Json) -> dict[str, bool]:
    """The tool's hints as they take effect: what is left out, or is not a boolean, is what MCP takes it for."""
    said = tool.get("annotations")
    given = said if isinstance(said, dict) else {}
    found = {
        hint: given[hint] if isinstance(given.get(hint), bool) else usual
        for hint, usual in _HINTS.items()
    }
    if found["readOnlyHint"]:
        found |= {hint: hint == "idempotentHint" for hint in _OF_WRITERS}
    return found


def _members(old: Json, new: Json) -> Iterator[Change]:
    """The tool's own words, and members that are compared as they stand."""
    name = new["name"]
    for member, kind in _WORDS.items():
        if not _is_same_text(old.get(member), new.get(member)):
            yield _plain(kind, name, f"/{member}", old.get(member), new.get(member), member)
    known = {*_WORDS, *_SCHEMAS, "name", "annotations", "execution"}
    for member in sorted((old.keys() | new.keys()) - known):
        for spot in spots(old.get(member), new.get(member), f"/{member}"):
            about = member if member in ("_meta", "icons", "version") else "unknown"
            yield _plain("annotation_changed", name, *spot, about)


def _is_same_text(before: Any, after: Any) -> bool:
    return equal(before, after) or (before in (None, "") and after in (None, ""))


def _plain(
    kind: str, tool: str, path: str, before: Any, after: Any, about: str, **facts: Any
) -> Change:
    verb = "added" if before is None else "removed" if after is None else "changed"
    label = path.lstrip("/").replace("/", ".") or about
    return Change(
        kind,
        tool,
        path,
        before,
        after,
        f"{label} {verb}",
        {"side": ABOUT, "direction": NONE, "about": about, **facts},
    )


def _schemas(old: Json, new: Json) -> Iterator[Change]:
    for member, side in _SCHEMAS.items():
        path = f"/{member}"
        if (member in old) == (member in new):
            for one in compare(old.get(member, {}), new.get(member, {}), path, side, new["name"]):
                yield _of_schema(one, side, new["name"])
        elif side == OUTPUT:
            yield _output(old, new, path, member)
        else:
            for one in compare(old.get(member, {}), new.get(member, {}), path, side, new["name"]):
                yield _of_schema(one, side, new["name"])


def _output(old: Json, new: Json, path: str, member: str) -> Change:
    """A schema of results that came or went: without one anything may be received."""
    direction = NARROWS if member in new else WIDENS
    verb = "added" if member in new else "removed"
    facts = {"side": OUTPUT, "direction": direction, "about": "outputSchema"}
    return Change(
        "output_changed",
        new["name"],
        path,
        old.get(member),
        new.get(member),
        f"outputSchema {verb}",
        facts,
    )


def _of_schema(one: Difference, side: str, tool: str) -> Change:
    """A difference of schemas as a change of the tool; on the side of results it is of one kind."""
    facts = {"side": side, "direction": one.direction, "about": one.about or one.kind, **one.more}
    kind = one.kind
    if side == OUTPUT:
        facts["about"] = one.kind
        kind = "output_changed"
    text = f"{_label(one.path)}: {one.message}"
    return Change(kind, tool, one.path, one.before, one.after, text, facts, one.covers)


def _label(path: str) -> str:
    """A pointer in short: names of members without the keywords around them."""
    steps = path.split("/")[1:]
    names = [step for at, step in enumerate(steps) if at and steps[at - 1] == "properties"]
    return ".".join(names) or steps[-1]


def _hints(old: Json, new: Json) -> Iterator[Change]:
    """Hints whose effect changed; and annotations that MCP does not know."""
    name = new["name"]
    before, after = hints(old), hints(new)
    is_writer = not (before["readOnlyHint"] or after["readOnlyHint"])
    for hint in _HINTS:
        if before[hint] != after[hint] and (is_writer or hint not in _OF_WRITERS):
            yield _plain(
                "annotation_changed",
                name,
                pointer("/annotations", hint),
                before[hint],
                after[hint],
                hint,
                hint=hint,
                now=after[hint],
            )
    said = [tool.get("annotations") for tool in (old, new)]
    sides = [one if isinstance(one, dict) else {} for one in said]
    for key in sorted((sides[0].keys() | sides[1].keys()) - _HINTS.keys()):
        kind = "title_changed" if key == "title" else "annotation_changed"
        about = "title" if key == "title" else "unknown"
        for spot in spots(sides[0].get(key), sides[1].get(key), pointer("/annotations", key)):
            yield _plain(kind, name, *spot, about)


def _tasks(old: Json, new: Json) -> Iterator[Change]:
    """How the tool may be called; left out, it may not be called as a task."""
    sides = [
        tool["execution"] if isinstance(tool.get("execution"), dict) else {} for tool in (old, new)
    ]
    ways = [_TASKS.get(str(side.get("taskSupport", "forbidden"))) for side in sides]
    if None not in ways and ways[0] != ways[1] and ways[0] is not None and ways[1] is not None:
        is_wider = ways[0] < ways[1]
        direction = WIDENS if is_wider else NARROWS if ways[1] < ways[0] else UNKNOWN
        kind = "constraint_loosened" if is_wider else "constraint_tightened"
        values = [side.get("taskSupport") for side in sides]
        change = _plain(
            kind, new["name"], "/execution/taskSupport", values[0], values[1], "taskSupport"
        )
        yield Change(
            **{
                **vars(change),
                "facts": {"side": INPUT, "direction": direction, "about": "taskSupport"},
            }
        )
    rest = [
        {key: value for key, value in side.items() if key != "taskSupport" or None in ways}
        for side in sides
    ]
    for spot in spots(rest[0], rest[1], "/execution"):
        yield _plain("annotation_changed", new["name"], *spot, "unknown")


def _unexplained(old: Json, new: Json, found: Iterable[Change]) -> Iterator[Spot]:
    """Differences in the spelling that no change accounts for: none at the spot, above it or below it."""
    explained = {path for change in found for path in (change.path, *change.covers) if path}
    above = {start for path in explained for start in _starts(path)}
    ordinary = {key: value for key, value in old.items() if key != "name"}
    others = {key: value for key, value in new.items() if key != "name"}
    for spot in spots(ordinary, others, ""):
        if spot.path not in above and explained.isdisjoint(_starts(spot.path)):
            yield spot


def _starts(path: str) -> Iterator[str]:
    """A pointer and those that it is below."""
    while path:
        yield path
        path = path.rpartition("/")[0]


def _words_out_of_reach(old: Json, rest: Iterable[Spot], tool: str) -> Iterator[Change]:
    """Descriptions that came where no parameter leads: a model reads the whole schema all the same."""
    known = {text for member in _SCHEMAS for _, text in _descriptions(old.get(member), "")}
    for spot in rest:
        if spot.path.split("/")[1] not in _SCHEMAS:
            continue
        at = spot.path.rpartition("/")
        value = {at[2]: spot.after} if at[2] == "description" else spot.after
        base = at[0] if at[2] == "description" else spot.path
        for path, text in _descriptions(value, base):
            if text not in known:
                yield _plain("description_changed", tool, path, None, text, "description")


def _descriptions(value: Any, path: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, dict):
        for key, item in value.items():
            if key == "description" and isinstance(item, str):
                yield pointer(path, key), item
            else:
                yield from _descriptions(item, pointer(path, key))
    elif isinstance(value, list):
        for place, item in enumerate(value):
            yield from _descriptions(item, pointer(path, place))


def _rewrites(rest: Iterable[Spot], tool: str) -> Iterator[Change]:
    """What is only spelled otherwise: one change for each member of the tool, and one for the schema's dialect."""
    groups: dict[str, list[Spot]] = {}
    for spot in rest:
        top = spot.path.split("/")[1]
        key = spot.path if spot.path.endswith("/$schema") else f"/{top}"
        groups.setdefault(key, []).append(spot)
    for key, members in groups.items():
        first = members[0]
        path = first.path if len(members) == 1 else _shared(members)
        sides = (first.before, first.after) if len(members) == 1 else (None, None)
        what = sorted({_step(spot.path) for spot in members})
        text = f"{key.lstrip('/').replace('/', '.')} is written differently and means the same ({', '.join(what[:5])})"
        facts = {"side": ABOUT, "direction": NONE, "about": ",".join(what)}
        covers = tuple(spot.path for spot in members)
        yield Change("equivalent_rewrite", tool, path, sides[0], sides[1], text, facts, covers)


def _shared(members: list[Spot]) -> str:
    """The longest pointer that all of them are below."""
    steps = [spot.path.split("/") for spot in members]
    shared = []
    for column in zip(*steps, strict=False):
        if len(set(column)) > 1:
            break
        shared.append(column[0])
    return "/".join(shared)


def _step(path: str) -> str:
    """The keyword that a pointer leads to."""
    return next((step for step in reversed(path.split("/")) if not step.isdecimal()), path)
