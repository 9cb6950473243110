"""Where in a snapshot's file a finding stands: files are written one member a line, sorted."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tipstaff.documents import pointer
from tipstaff.documents.contract import MAX_BYTES, snapshot, text
from tipstaff.errors import Error

# Lists of the server's own members, and what each entry of them goes by.
_LISTS = {
    "prompts": ("prompts", "name"),
    "resources": ("resources", "uri"),
    "resourceTemplates": ("resource_templates", "uriTemplate"),
}
_MEMBERS = {
    "protocolVersion": "protocol_version",
    "serverInfo": "server_info",
    "serverId": "server_id",
    "behaviorFingerprint": "behavior_fingerprint",
}


class Places:
    """The lines of a file; a file that is no snapshot, or not written by Tipstaff, has its first line only."""

    def __init__(self, file: Path) -> None:
        self._lines: list[str] = []
        self._value: Any = {}
        try:
            if file.stat().st_size > MAX_BYTES:
                return
            written = file.read_text(encoding="utf-8")
            value = json.loads(written)
            if text(snapshot(value)) == written:
                self._lines, self._value = written.splitlines(), value
        except (OSError, ValueError, RecursionError, Error):
            return

    def line(self, tool: str | None, path: str) -> int:
        """The line of what a pointer leads to, or of the last step to it that is there; counted from 1."""
        at, value, depth = 0, self._value, 1
        for step in self._steps(tool, path):
            if isinstance(value, list) and step.isdecimal() and int(step) < len(value):
                found = self._item(at, depth, int(step))
                value = value[int(step)]
            elif isinstance(value, dict) and step in value:
                found = self._member(at, depth, step)
                value = value[step]
            else:
                break
            if found is None:
                break
            at, depth = found, depth + 1
        return at + 1

    def _steps(self, tool: str | None, path: str) -> list[str]:
        steps = pointer.steps(path)
        if tool is not None:
            return ["tools", *self._place("tools", "name", tool), *steps]
        if steps and steps[0] in _LISTS and len(steps) > 1:
            member, key = _LISTS[steps[0]]
            return [member, *self._place(member, key, steps[1]), *steps[2:]]
        return [_MEMBERS.get(steps[0], steps[0]), *steps[1:]] if steps else []

    def _place(self, member: str, key: str, name: str) -> list[str]:
        """The place of an entry in its list; none where it is not there, so that the list is the place."""
        entries = self._value.get(member, [])
        return next(([str(at)] for at, entry in enumerate(entries) if entry[key] == name), ["-"])

    def _member(self, start: int, depth: int, name: str) -> int | None:
        wanted = f"{'  ' * depth}{json.dumps(name, ensure_ascii=False)}:"
        return next((at for at in self._below(start, depth) if self._is(at, wanted)), None)

    def _item(self, start: int, depth: int, place: int) -> int | None:
        indent = "  " * depth
        items = (
            at
            for at in self._below(start, depth)
            if self._is(at, indent) and self._lines[at][len(indent)] not in " ]}"
        )
        return next((at for count, at in enumerate(items) if count == place), None)

    def _is(self, at: int, start: str) -> bool:
        return self._lines[at].startswith(start)

    def _below(self, start: int, depth: int) -> range:
        """The lines inside what begins at one."""
        end, indent = start + 1, "  " * depth
        while end < len(self._lines) and self._lines[end].startswith(indent):
            end += 1
        return range(start + 1, end)
