"""The names that drift concerns: tools and parameters, what they are called now, and what changed about them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tipstaff.documents.base import Json
from tipstaff.documents.contract import Snapshot
from tipstaff.documents.pointer import unescaped
from tipstaff.drift.change import Change

# What a file may be made to call a tool or a parameter; whatever else a server comes up with stays out of files.
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{0,99}")
# Nothing that used a tool before has to do with these.
_NEW_OR_SAME = {"tool_added", "param_added_optional", "equivalent_rewrite"}
_IN_SCHEMA = "/inputSchema/"
_MOST_REASONS = 5


@dataclass
class Name:
    """A tool, or a parameter of one, as files that were written before call it.

    ``new`` is what it is called now, where it was renamed; ``reasons`` say what changed about it.
    """

    tool: str
    parameter: str | None = None
    new: str | None = None
    reasons: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        """What stands in a file."""
        return self.tool if self.parameter is None else self.parameter

    @property
    def why(self) -> str:
        """What changed, in one line."""
        shown = "; ".join(self.reasons[:_MOST_REASONS])
        more = len(self.reasons) - _MOST_REASONS
        return shown if more <= 0 else f"{shown}; and {more} more"


@dataclass(frozen=True)
class Names:
    """All names of one server that matter: those that changed, and which tools have which parameters.

    ``parameters`` maps each tool of this server, and of others that are pinned, to the names of its parameters;
    ``elsewhere`` are the tools of other servers.
    """

    server: str
    changed: Sequence[Name]
    parameters: Mapping[str, frozenset[str]]
    elsewhere: frozenset[str]

    @property
    def tools(self) -> dict[str, Name]:
        """The tools that changed, or of which a parameter did, by name."""
        found = {name.tool: name for name in self.changed if name.parameter is None}
        for name in self.changed:
            found.setdefault(name.tool, Name(name.tool))
        return found


def names_of(old: Snapshot, changes: Iterable[Change], beside: Iterable[Snapshot]) -> Names:
    """The names in a contract that changed, by what changed about them."""
    listed = list(changes)
    before = {change.after: change.before for change in listed if change.kind == "tool_renamed"}
    known = {tool["name"] for tool in old.tools}
    found: dict[tuple[str, str | None], Name] = {}
    for change in listed:
        for tool in filter(None, (change.tool, *change.tools)):
            called = before.get(tool, tool)
            if called in known and change.kind not in _NEW_OR_SAME:
                _add(found, called, change)
    others = list(beside)
    return Names(
        server=old.server_id,
        changed=[found[key] for key in sorted(found, key=lambda key: (key[0], key[1] or ""))],
        parameters=_parameters([old, *others]),
        elsewhere=frozenset(tool["name"] for other in others for tool in other.tools),
    )


def is_plain(text: str) -> bool:
    """Whether a name is one that may be written into a file."""
    return _PLAIN.fullmatch(text) is not None


def _add(found: dict[tuple[str, str | None], Name], tool: str, change: Change) -> None:
    parameter = _parameter(change)
    name = found.setdefault((tool, parameter), Name(tool, parameter))
    if change.kind == "tool_renamed" or (parameter and change.kind == "param_renamed"):
        name.new = str(change.after)
    if change.message not in name.reasons:
        name.reasons.append(change.message)


def _parameter(change: Change) -> str | None:
    """The parameter that a change is about; None where callers never named it before."""
    if change.kind == "param_added_required" or not change.path.startswith(_IN_SCHEMA):
        return None
    steps = change.path.split("/")
    places = [place for place, step in enumerate(steps[:-1]) if step == "properties"]
    if not places:
        return None
    return unescaped(steps[places[-1] + 1]) or None


def _parameters(snapshots: Iterable[Snapshot]) -> dict[str, frozenset[str]]:
    found: dict[str, frozenset[str]] = {}
    for snapshot in snapshots:
        for tool in snapshot.tools:
            names = frozenset(_properties(tool.get("inputSchema"), 0))
            found[tool["name"]] = found.get(tool["name"], frozenset()) | names
    return found


def _properties(schema: Any, depth: int) -> Iterable[str]:
    if depth > 50:
        return
    if isinstance(schema, list):
        for item in schema:
            yield from _properties(item, depth + 1)
    if not isinstance(schema, dict):
        return
    properties: Json = schema.get("properties") or {}
    if isinstance(properties, dict):
        yield from properties
    for item in schema.values():
        yield from _properties(item, depth + 1)
