"""What happened to every tool at once, as when a server's SDK writes schemas differently: one change for them all."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import replace

from tipstaff.drift.change import Change

_FEWEST = 2
# What generators decide for a whole server, wherever in a schema it stands.
_GENERATED = frozenset(
    {"additionalProperties", "_meta", "unknown", "lower", "upper", "propertyNames"}
)


def swept(changes: list[Change], common: set[str]) -> list[Change]:
    """The changes, with those that are the same in all tools that both contracts have put into one.

    Rewrites without meaning, and what generators decide, are put together wherever two tools share them.
    """
    groups: dict[tuple[str, ...], list[Change]] = defaultdict(list)
    for change in changes:
        if change.tool is not None and change.kind not in (
            "tool_added",
            "tool_removed",
            "tool_renamed",
        ):
            groups[_key(change)].append(change)
    together: dict[int, Change | None] = {}
    for members in groups.values():
        tools = sorted({change.tool for change in members if change.tool is not None})
        is_generated = (
            members[0].kind == "equivalent_rewrite" or members[0].facts.get("about") in _GENERATED
        )
        if len(tools) >= _FEWEST and (is_generated or common.issubset(tools)):
            together |= {id(change): None for change in members}
            together[id(members[0])] = _one(members, tools)
    kept = [together.get(id(change), change) for change in changes]
    return [change for change in kept if change is not None]


def _key(change: Change) -> tuple[str, ...]:
    about = str(change.facts.get("about"))
    if change.kind == "equivalent_rewrite":
        return (change.kind, about, change.path.split("/")[1])
    place = about if about in _GENERATED else change.path
    sides = json.dumps([change.before, change.after], sort_keys=True)
    return (
        change.kind,
        place,
        str(change.facts.get("side")),
        str(change.facts.get("direction")),
        sides,
    )


def _one(members: list[Change], tools: list[str]) -> Change:
    first = min(members, key=lambda change: (len(change.path), change.path))
    same = all((one.before, one.after) == (first.before, first.after) for one in members)
    text = f"{first.message}, in {len(tools)} tools: {', '.join(tools)}"
    return replace(
        first,
        tool=None,
        before=first.before if same else None,
        after=first.after if same else None,
        message=text,
        tools=tuple(tools),
    )


def names(changes: Iterable[Change]) -> set[str]:
    """Every tool that the changes are about."""
    return {
        name
        for change in changes
        for name in (change.tools or ((change.tool,) if change.tool else ()))
    }
