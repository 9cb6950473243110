"""What a contract shows at first sight, with nothing to compare it to: hidden text, and names that deceive."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from typing import Any

from tipstaff.documents.base import Json
from tipstaff.documents.contract import Snapshot
from tipstaff.documents.pointer import pointer
from tipstaff.drift.change import ABOUT, NONE, Change
from tipstaff.drift.confusion import looks, scripts
from tipstaff.drift.hidden import classes_in, strings

_LISTS = (
    ("prompts", "name", "/prompts"),
    ("resources", "uri", "/resources"),
    ("resource_templates", "uriTemplate", "/resourceTemplates"),
)


def first_sight(snapshot: Snapshot, others: Iterable[Snapshot] = ()) -> list[Change]:
    """What deserves a look before a contract is trusted: in itself, and beside the contracts of other servers."""
    found = [
        *_hidden(snapshot.tools),
        *_hidden_elsewhere(snapshot),
        *_duplicates(snapshot),
        *_mixed(snapshot.tools),
        *_alike(snapshot),
    ]
    for other in others:
        found += _beside(snapshot, other)
    return found


def new_sights(old: Snapshot, new: Snapshot) -> list[Change]:
    """What is to be seen in the new snapshot and was not in the old one."""
    kept = set(old.tool_bytes)
    fresh = [tool for data, tool in zip(new.tool_bytes, new.tools, strict=True) if data not in kept]
    before = {_identity(one) for one in _hidden(_named(old.tools, fresh))}
    found = [one for one in _hidden(fresh) if _identity(one) not in before]
    if _rest(old) != _rest(new):
        seen = {_identity(one) for one in _hidden_elsewhere(old)}
        found += [one for one in _hidden_elsewhere(new) if _identity(one) not in seen]
    if [tool["name"] for tool in old.tools] != [tool["name"] for tool in new.tools]:
        known = {_identity(one) for one in _of_names(old)}
        found += [one for one in _of_names(new) if _identity(one) not in known]
    return found


def new_beside(old: Snapshot, new: Snapshot, others: Iterable[Snapshot]) -> list[Change]:
    """Names of other servers that the new snapshot has, or almost has, and the old one had not."""
    found = []
    for other in others:
        known = {_identity(one) for one in _beside(old, other)}
        found += [one for one in _beside(new, other) if _identity(one) not in known]
    return found


def _named(tools: list[Json], like: list[Json]) -> list[Json]:
    wanted = {tool["name"] for tool in like}
    return [tool for tool in tools if tool["name"] in wanted]


def _identity(change: Change) -> tuple[str, str | None, str, str]:
    return (change.kind, change.tool, change.path, repr(change.after))


def _of_names(snapshot: Snapshot) -> list[Change]:
    return [*_duplicates(snapshot), *_mixed(snapshot.tools), *_alike(snapshot)]


def _rest(snapshot: Snapshot) -> Json:
    members = {
        "server_info",
        "capabilities",
        "instructions",
        "prompts",
        "resources",
        "resource_templates",
    }
    return snapshot.model_dump(include=members)


def _hidden(tools: Iterable[Json]) -> Iterator[Change]:
    for tool in tools:
        yield from _hidden_in(tool, tool["name"], "")


def _hidden_elsewhere(snapshot: Snapshot) -> Iterator[Change]:
    rest = _rest(snapshot)
    for member, path in (
        ("server_info", "/serverInfo"),
        ("capabilities", "/capabilities"),
        ("instructions", "/instructions"),
    ):
        yield from _hidden_in(rest[member], None, path)
    for member, key, path in _LISTS:
        for entry in rest[member]:
            yield from _hidden_in(entry, None, pointer(path, entry[key]))


def _hidden_in(value: Any, tool: str | None, base: str) -> Iterator[Change]:
    for path, text, is_key in strings(value, base):
        is_name = is_key or path in ("/name", "/serverInfo/name")
        found = classes_in(text, is_name=is_name)
        if found:
            codes = [code for listed in found.values() for code in listed]
            what = ", ".join(sorted(found)).replace("_", " ")
            shown = f" ({', '.join(codes[:8])}{', …' if len(codes) > 8 else ''})" if codes else ""
            facts = {"classes": sorted(found), "place": "name" if is_name else "text"}
            yield _sight(
                "hidden_text", tool, path, text, f"hidden in plain sight: {what}{shown}", facts
            )


def _sight(kind: str, tool: str | None, path: str, after: Any, message: str, facts: Json) -> Change:
    whole = {"side": ABOUT, "direction": NONE, "about": "sight", **facts}
    return Change(kind, tool, path, None, after, message, whole)


def _duplicates(snapshot: Snapshot) -> Iterator[Change]:
    for name, count in Counter(tool["name"] for tool in snapshot.tools).items():
        if count > 1:
            yield _sight("name_duplicate", name, "/name", name, f"{count} tools have this name", {})


def _mixed(tools: Iterable[Json]) -> Iterator[Change]:
    for tool in tools:
        mixture = scripts(tool["name"])
        if len(mixture) > 1:
            text = f"the name mixes the scripts {', '.join(mixture)}"
            yield _sight(
                "name_confusable", tool["name"], "/name", tool["name"], text, {"scripts": mixture}
            )


def _alike(snapshot: Snapshot) -> Iterator[Change]:
    """Names of one server that look alike."""
    seen: dict[str, set[str]] = defaultdict(set)
    for name in {tool["name"] for tool in snapshot.tools}:
        for look in looks(name):
            seen[look].add(name)
    pairs = {tuple(sorted(names)) for names in seen.values() if len(names) > 1}
    for names in sorted(pairs):
        for name in names:
            others = [other for other in names if other != name]
            yield _sight(
                "name_confusable",
                name,
                "/name",
                name,
                f"looks like {', '.join(others)}",
                {"like": others},
            )


def _beside(snapshot: Snapshot, other: Snapshot) -> Iterator[Change]:
    """Names that another server has as well, or almost."""
    theirs: dict[str, set[str]] = defaultdict(set)
    for tool in other.tools:
        for look in looks(tool["name"]):
            theirs[look].add(tool["name"])
    names = {tool["name"] for tool in other.tools}
    for name in sorted({tool["name"] for tool in snapshot.tools}):
        if name in names:
            text = f"the server {other.server_id} has a tool of this name"
            yield _sight("name_shadowed", name, "/name", name, text, {"server": other.server_id})
            continue
        like = sorted({found for look in looks(name) for found in theirs.get(look, ())})
        if like:
            text = f"looks like {', '.join(like)} of the server {other.server_id}"
            yield _sight(
                "name_confusable",
                name,
                "/name",
                name,
                text,
                {"server": other.server_id, "like": like},
            )
