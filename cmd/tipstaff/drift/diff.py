"""The difference of two snapshots, exact by construction: their digests differ if and only if there is a change."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tipstaff.documents.base import Json
from tipstaff.documents.contract import Snapshot, is_same, share_bytes
from tipstaff.drift.change import ABOUT, NARROWS, NONE, UNKNOWN, WIDENS, Change
from tipstaff.drift.renames import renamed_tools
from tipstaff.drift.server import compare_servers
from tipstaff.drift.sight import new_sights
from tipstaff.drift.sweep import swept
from tipstaff.drift.tools import compare_tools

_Tools = dict[str, list[tuple[bytes, Json]]]


def diff(old: Snapshot, new: Snapshot) -> list[Change]:
    """Every change from one snapshot of a server to another, in a stable order; empty where the digests are equal."""
    if is_same(old, new):
        return []
    share_bytes(old, new)
    if old.digest == new.digest:
        return []
    found = [*_tools(old, new), *compare_servers(old, new), *new_sights(old, new)]
    common = {tool["name"] for tool in old.tools} & {tool["name"] for tool in new.tools}
    found = swept(found, common)
    if not found:
        found = [_unnamed(old, new)]
    return sorted(
        found, key=lambda change: (change.tool or "", change.path, change.kind, change.message)
    )


def _unnamed(old: Snapshot, new: Snapshot) -> Change:
    """The change of last resort: the digests differ, so something did, whatever no reader above could name."""
    facts = {"side": ABOUT, "direction": UNKNOWN, "about": "unknown"}
    text = "the contract differs in a way that has no name"
    return Change("server_changed", None, "", old.digest, new.digest, text, facts)


def _by_name(snapshot: Snapshot) -> _Tools:
    found: _Tools = {}
    for data, tool in zip(snapshot.tool_bytes, snapshot.tools, strict=True):
        found.setdefault(tool["name"], []).append((data, tool))
    return found


def _tools(old: Snapshot, new: Snapshot) -> Iterator[Change]:
    before, after = _by_name(old), _by_name(new)
    gone: list[Json] = []
    come: list[Json] = []
    for name in before.keys() | after.keys():
        one, other = _unequal(before.get(name, []), after.get(name, []))
        for was, now in zip(one, other, strict=False):
            yield from compare_tools(was, now)
        gone += one[len(other) :]
        come += other[len(one) :]
    gone, come = (sorted(side, key=lambda tool: str(tool["name"])) for side in (gone, come))
    pairs = renamed_tools(gone, come) if gone and come else []
    for was, now in pairs:
        yield _renamed(was, now)
        yield from compare_tools(was, now)
    paired = {id(tool) for pair in pairs for tool in pair}
    yield from (_removed(tool) for tool in gone if id(tool) not in paired)
    yield from (_added(tool) for tool in come if id(tool) not in paired)


def _unequal(
    old: list[tuple[bytes, Json]], new: list[tuple[bytes, Json]]
) -> tuple[list[Json], list[Json]]:
    """The tools of one name that the other side has not in the same bytes."""
    if len(old) == len(new) == 1:
        return ([], []) if old[0][0] == new[0][0] else ([old[0][1]], [new[0][1]])
    rest = list(new)
    gone = []
    for one in old:
        match = next((other for other in rest if other[0] == one[0]), None)
        if match:
            rest.remove(match)
        else:
            gone.append(one)
    return [tool for _, tool in gone], [tool for _, tool in rest]


def _added(tool: Json) -> Change:
    facts = {
        "side": ABOUT,
        "direction": WIDENS,
        "about": "tool",
        "words": words_of(tool),
        "stated": stated_hints(tool),
    }
    return Change("tool_added", tool["name"], "", None, tool, "tool added", facts)


def _removed(tool: Json) -> Change:
    facts = {"side": ABOUT, "direction": NARROWS, "about": "tool"}
    return Change("tool_removed", tool["name"], "", tool, None, "tool removed", facts)


def _renamed(old: Json, new: Json) -> Change:
    text = f"tool renamed from {old['name']} to {new['name']}"
    facts = {
        "side": ABOUT,
        "direction": NONE,
        "about": "tool",
        "words": words_of(new),
        "stated": stated_hints(new),
    }
    return Change("tool_renamed", old["name"], "/name", old["name"], new["name"], text, facts)


def stated_hints(tool: Json) -> dict[str, bool]:
    """The hints that the tool itself gives, true or false."""
    said = tool.get("annotations")
    given = said if isinstance(said, dict) else {}
    return {hint: value for hint, value in given.items() if isinstance(value, bool)}


def words_of(tool: Json) -> list[str]:
    """The different words of a tool's name, description and schema, in lower case, for policy to look among."""
    texts = [tool["name"], str(tool.get("description", "")), *_texts(tool.get("inputSchema"))]
    found = {
        word.lower() for text in texts for word in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", text)
    }
    return sorted(found)


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, item in value.items():
            yield key
            yield from _texts(item)
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item)
