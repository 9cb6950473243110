"""How a text is laid out, as far as it says whether a word in it is a name: code spans, literals, brackets."""

from __future__ import annotations

import re
from bisect import bisect_right
from functools import cached_property
from typing import Literal

Kind = Literal["prose", "data", "code"]
_KINDS: dict[str, Kind] = {
    **dict.fromkeys(("md", "markdown", "mdx", "mdc", "txt", "rst", "adoc", "prompt", ""), "prose"),
    **dict.fromkeys(("json", "jsonl", "jsonc", "yaml", "yml", "toml", "ini", "cfg"), "data"),
}
_SPAN = re.compile(r"(?<!`)(`{1,2})(?!`)([^`\n]+)\1(?!`)")
_AFTER = re.compile(r"\s*(:?)\s*([(\[{]?)")
_OPENING = {")": "(", "]": "[", "}": "{"}
_CLOSING = {opening: closing for closing, opening in _OPENING.items()}
_TOKEN = re.compile(r'"(?:[^"\\\n]|\\.)*"|[()\[\]{}]')
_REACH = 4000
PREVIEW = 120


class Layout:
    """One text and where things stand in it. Positions count characters."""

    def __init__(self, path: str, text: str) -> None:
        self.path = path
        self.text = text
        name = path.rsplit("/", 1)[-1].lower()
        self.kind: Kind = _KINDS.get(name.rpartition(".")[2] if "." in name else "", "code")

    @cached_property
    def _starts(self) -> list[int]:
        return [0, *(found.end() for found in re.finditer("\n", self.text))]

    @cached_property
    def _spans(self) -> list[tuple[int, int]]:
        found = _SPAN.finditer(self.text) if self.kind == "prose" else ()
        return [match.span(2) for match in found]

    def line(self, position: int) -> int:
        """The number of a position's line, from 1."""
        return bisect_right(self._starts, position)

    def line_around(self, position: int) -> tuple[int, int]:
        """Where a position's line begins and ends."""
        number = self.line(position)
        start = self._starts[number - 1]
        end = self._starts[number] - 1 if number < len(self._starts) else len(self.text)
        return start, end

    def preview(self, start: int, end: int) -> str:
        """The line of a word, or as much of it around the word as fits."""
        first, last = self.line_around(start)
        room = max(0, PREVIEW - (end - start)) // 2
        left, right = max(first, start - room), min(last, end + room)
        return self.text[left:right].strip()

    def span(self, position: int) -> tuple[int, int] | None:
        """The code span that a position of prose is in."""
        return _holding(self._spans, position)

    def quote(self, start: int, end: int) -> str:
        """The quotation mark that stands right before and right after a word; empty where there is none."""
        before, after = self.text[max(0, start - 1) : start], self.text[end : end + 1]
        return before if before and before == after and before in "\"'`" else ""

    def arguments(self, start: int, end: int) -> tuple[int, int] | None:
        """Where a word's own arguments stand: in the brackets after it, else, for a literal, in those around it."""
        quoted = 1 if self.quote(start, end) else 0
        after = _AFTER.match(self.text, end + quoted)
        if after is not None and (after[2] == "(" or (after[1] and after[2])):
            return self._inside(after.start(2))
        if not quoted or (after is not None and after[1]):
            return None
        return self._inside(self._brackets.around(start))

    @cached_property
    def _brackets(self) -> _Brackets:
        return _Brackets(self.text)

    def _inside(self, opening: int | None) -> tuple[int, int] | None:
        closing = None if opening is None else self._brackets.closing.get(opening)
        if opening is None or closing is None or closing - opening > _REACH:
            return None
        return opening + 1, closing


class _Brackets:
    """Which bracket closes which, outside of double quotes on one line; what does not pair is left out."""

    def __init__(self, text: str) -> None:
        self.closing: dict[int, int] = {}
        self._openings: list[int] = []
        self._parents: dict[int, int | None] = {}
        stack: list[tuple[int, str]] = []
        for found in _TOKEN.finditer(text):
            token, place = found[0], found.start()
            if token in _CLOSING:
                self._openings.append(place)
                self._parents[place] = stack[-1][0] if stack else None
                stack.append((place, _CLOSING[token]))
            elif token in _OPENING and stack and stack[-1][1] == token:
                self.closing[stack.pop()[0]] = place

    def around(self, position: int) -> int | None:
        """The innermost bracket that is open at a position."""
        place = bisect_right(self._openings, position) - 1
        opening = self._openings[place] if place >= 0 else None
        while opening is not None and self.closing.get(opening, position) < position:
            opening = self._parents[opening]
        return opening


def _holding(intervals: list[tuple[int, int]], position: int) -> tuple[int, int] | None:
    place = bisect_right(intervals, (position, 1 << 62)) - 1
    if place < 0:
        return None
    start, end = intervals[place]
    return (start, end) if start <= position < end else None
