"""Versions that a server or a tool declares of its contract, and how far each moved.

A tool says ``version`` (the shape of SEP-1575), a server ``contractVersion`` in its ``serverInfo`` or capabilities, as
a semantic version (the shape of SEP-1400). ``serverInfo.version`` is none: it
is the package's, the library's, or empty.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from tipstaff.documents.base import Json
from tipstaff.documents.contract import Snapshot

_SEMANTIC = re.compile(r"v?(\d{1,9})\.(\d{1,9})\.(\d{1,9})(?:[-+].*)?$")
_NAMES = ("contractVersion", "contract_version")
_STEPS = ("major", "minor", "patch")


def declared_versions(old: Snapshot, new: Snapshot) -> list[Json]:
    """Each version that both contracts declare: of what, before, after, and the step between them.

    The step is major, minor, patch, none, down, or other where a version is not semantic.
    """
    return [
        {"tool": tool, "before": before, "after": after, "bump": _bump(before, after)}
        for tool, before, after in _pairs(old, new)
    ]


def _pairs(old: Snapshot, new: Snapshot) -> Iterator[tuple[str | None, str, str]]:
    sides = [_of_server(one) for one in (old, new)]
    if sides[0] and sides[1]:
        yield None, sides[0], sides[1]
    before = {tool["name"]: _of_tool(tool) for tool in old.tools if "version" in tool}
    for tool in new.tools:
        was, now = before.get(tool["name"]), _of_tool(tool)
        if was and now:
            yield tool["name"], was, now


def _of_tool(tool: Json) -> str | None:
    return _text(tool.get("version"))


def _of_server(snapshot: Snapshot) -> str | None:
    places = [snapshot.server_info or {}, snapshot.capabilities or {}]
    places += [place["_meta"] for place in places if isinstance(place.get("_meta"), dict)]
    return next(
        (found for place in places for name in _NAMES if (found := _text(place.get(name)))), None
    )


def _text(value: Any) -> str | None:
    return value[:200] if isinstance(value, str) and value else None


def _bump(before: str, after: str) -> str:
    if before == after:
        return "none"
    sides = [_SEMANTIC.match(text) for text in (before, after)]
    if not (sides[0] and sides[1]):
        return "other"
    was, now = (tuple(int(part) for part in side.groups()) for side in sides if side)
    if now <= was:
        return "down"
    return next(step for step, one, other in zip(_STEPS, was, now, strict=True) if one != other)
