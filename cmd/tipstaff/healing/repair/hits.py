"""Where files name what changed, and which of these words are surely the name.

A word that may be anything counts only where it can hardly be else: quoted, in code, in the arguments of its tool, or
said to be a parameter. What counts and is not sure is told to a person and never rewritten.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import cached_property

from tipstaff.healing.repair.layout import Layout
from tipstaff.healing.repair.names import Name, Names, is_plain

_WORDED = "parameter|parameters|argument|arguments|param|params|arg|args|option|field|input"
_AS_NAME = re.compile(
    r"(?:[\"']?\b(?:name|tool|tool_?name|tools)[\"']?\s*[:=]\s*\[?\s*|call_?tool\(\s*)[\"']?$",
    re.IGNORECASE,
)
_BEFORE = 200


@dataclass(frozen=True)
class Hit:
    """A word in a file that names what changed; ``doubt`` says why it is not rewritten, empty where it can be."""

    path: str
    line: int
    start: int
    end: int
    name: Name
    doubt: str
    preview: str


class Finder:
    """Looks for the names of one server in one text after another."""

    def __init__(self, names: Names) -> None:
        self._names = names
        self._tools = names.tools
        self._any = _alternatives(self._tools)
        self._known = _alternatives(names.parameters)
        forms = {names.server, re.sub(r"[^A-Za-z0-9]", "_", names.server)}
        self._server = "|".join(re.escape(form) for form in sorted(forms, key=len, reverse=True))

    def hits(self, path: str, text: str) -> list[Hit]:
        """All that counts in a text, in its order."""
        if self._any is None or self._any.search(text) is None:
            return []
        file = _File(Layout(path, text), self._names, self._server)
        tools = [
            hit
            for found in self._any.finditer(text)
            for hit in file.tool(self._tools[found[0]], *found.span())
        ]
        found = [hit for hit in tools if hit.name.reasons]
        named = {hit.name.tool for hit in tools}
        beside = {found[0] for found in self._known.finditer(text)} if self._known else set()
        for name in self._names.changed:
            if name.parameter is not None and name.tool in named:
                places = [(hit.start, hit.end) for hit in tools if hit.name.tool == name.tool]
                found += _Parameter(file, name, places, beside).hits()
        return sorted(found, key=lambda hit: (hit.start, hit.name.parameter or ""))


@dataclass(frozen=True)
class _File:
    layout: Layout
    names: Names
    server: str

    def hit(self, name: Name, start: int, end: int, doubt: str) -> Hit:
        doubt = doubt or _not_writable(name)
        layout = self.layout
        return Hit(
            layout.path, layout.line(start), start, end, name, doubt, layout.preview(start, end)
        )

    @cached_property
    def speaks_of_server(self) -> bool:
        """Whether the text names the server as a word."""
        return (
            re.search(rf"(?<!\w)(?:{self.server})(?!\w)", self.layout.text, re.IGNORECASE)
            is not None
        )

    def before(self, start: int) -> str:
        return self.layout.text[max(0, start - _BEFORE) : start]

    def tool(self, name: Name, start: int, end: int) -> Iterator[Hit]:
        """The hit on a tool's name, if it counts."""
        separator = self._qualified(start)
        if separator:
            is_attribute = separator == "." and self.layout.kind == "code"
            yield self.hit(name, start, end, "may be an attribute of something else" * is_attribute)
            return
        if self.layout.text[start - 1 : start] == "_":
            return
        special = is_special(name.tool)
        if not self._is_whole(name.tool, start, end):
            if special:
                yield self.hit(name, start, end, "is part of another name, or of a path")
            return
        doubt = self._doubt(name.tool, start, end)
        if doubt is not None and (special or self._is_marked(start, end)):
            yield self.hit(name, start, end, doubt)

    def _qualified(self, start: int) -> str:
        found = re.search(rf"(?<!\w)(?:mcp__)?(?:{self.server})(__|[.:/])$", self.before(start))
        return found[1] if found else ""

    def _is_whole(self, tool: str, start: int, end: int) -> bool:
        text = self.layout.text
        if re.search(r"[\w\-./\\@#$]$", self.before(start)):
            return False
        after = re.compile(r"[\w\-/\\]|\.(\w+)").match(text, end)
        return after is None or (after[1] or "") in self.names.parameters.get(tool, ())

    def _is_marked(self, start: int, end: int) -> bool:
        """Whether the word stands where names stand: quoted, in a code span, or before its arguments."""
        layout = self.layout
        if layout.quote(start, end) or re.match(r"\s?\(", layout.text[end : end + 2]):
            return True
        return bool(_AS_NAME.search(self.before(start)))

    def _doubt(self, tool: str, start: int, end: int) -> str | None:
        """Why the whole word is not surely the tool; empty where it is."""
        if tool in self.names.elsewhere:
            return "another server has a tool of this name"
        layout = self.layout
        quote = layout.quote(start, end)
        if layout.kind == "code" and not quote:
            return "may be a name in the code"
        if is_special(tool):
            return ""
        if not self.speaks_of_server:
            return "is a common word, and the file does not name the server"
        as_name = _AS_NAME.search(self.before(start)) is not None
        in_prose = layout.kind == "prose" and (quote == "`" or layout.span(start) is not None)
        return "" if as_name or in_prose else "is a common word"


class _Parameter:
    """One parameter in a file that names its tool."""

    def __init__(
        self, file: _File, name: Name, tools: list[tuple[int, int]], beside: set[str]
    ) -> None:
        self._file, self._name = file, name
        self._layout = file.layout
        parameters = file.names.parameters
        shared = {
            tool for tool in beside if tool != name.tool and name.text in parameters.get(tool, ())
        }
        self._shared = sorted(shared)
        self._lines = {self._layout.line(start) for start, _ in tools}
        around = [(self._layout.arguments(*place), place) for place in tools]
        self._arguments = [
            (region, self._layout.quote(*place) != "" or self._layout.kind != "code")
            for region, place in around
            if region is not None and not self._names_another(region)
        ]

    def hits(self) -> Iterator[Hit]:
        word = re.compile(rf"(?<![\w-]){re.escape(self._name.text)}(?![\w-])")
        for found in word.finditer(self._layout.text):
            doubt = self._doubt(*found.span())
            if doubt is not None:
                yield self._file.hit(self._name, *found.span(), doubt)

    def _doubt(self, start: int, end: int) -> str | None:
        """Why the word is not surely the parameter; empty where it is, None where it does not count at all."""
        layout = self._layout
        marked = self._is_marked(start, end)
        within = [sure for (first, last), sure in self._arguments if first <= start < last]
        if within and (marked or layout.kind == "prose"):
            return "" if any(within) else "may be an argument of something else"
        special = is_special(self._name.text)
        if marked or special:
            if layout.kind == "code":
                return "may be a name in the code"
            if self._shared:
                return f"may be the parameter of {', '.join(self._shared[:3])}"
            return ""
        return "is a common word" if layout.line(start) in self._lines else None

    def _is_marked(self, start: int, end: int) -> bool:
        """Whether the word stands where names of parameters stand."""
        layout, text = self._layout, self._layout.text
        before = self._file.before(start)
        if before.endswith(f"{self._name.tool}."):
            return True
        quote = layout.quote(start, end)
        inner = text[end + 1 : end + 4] if quote else text[end : end + 3]
        first, _ = layout.line_around(start)
        if re.match(r"\s*:(?!:)", inner) and (
            quote or (layout.kind != "code" and not text[first:start].strip(" \t-*"))
        ):
            return True
        if re.match(r"=(?!=)", text[end : end + 2]):
            return True
        if layout.kind == "prose" and self._is_whole_span(start):
            return True
        return _is_called_one(before, text[end : end + 30])

    def _is_whole_span(self, start: int) -> bool:
        span = self._layout.span(start)
        if span is None:
            return False
        said = self._layout.text[span[0] : span[1]].strip(" \"'")
        return re.fullmatch(rf"{re.escape(self._name.text)}\s*(?:[=:].*)?", said) is not None

    def _names_another(self, region: tuple[int, int]) -> bool:
        """Whether arguments are shared by several tools, so that nobody can tell whose a name in them is."""
        inside = self._layout.text[region[0] : region[1]]
        return any(re.search(rf"(?<!\w){re.escape(tool)}(?!\w)", inside) for tool in self._shared)


def is_special(name: str) -> bool:
    """Whether a name is one that no sentence has by accident: of several parts, or with a digit."""
    return (
        len(name) > 4 and re.search(r"[A-Za-z0-9][_.-][A-Za-z0-9]|[a-z][A-Z]|\d", name) is not None
    )


def _is_called_one(before: str, after: str) -> bool:
    said = re.search(rf"\b(?:{_WORDED})\s+[\"'`*]*$", before, re.IGNORECASE)
    return bool(said or re.match(rf"[\"'`*]*\s+(?:{_WORDED})\b", after, re.IGNORECASE))


def _not_writable(name: Name) -> str:
    if name.new is None:
        return "was not renamed"
    if not is_plain(name.new) or not is_plain(name.text):
        return "the names are not plain enough to be written into a file"
    return ""


def _alternatives(words: Collection[str]) -> re.Pattern[str] | None:
    if not words:
        return None
    longest_first = "|".join(map(re.escape, sorted(words, key=len, reverse=True)))
    return re.compile(rf"(?<![A-Za-z0-9])(?:{longest_first})(?![A-Za-z0-9_])")
