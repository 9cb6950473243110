"""Which lines of Markdown are code: fenced or indented, as CommonMark reads them outside of lists."""

from __future__ import annotations

import re

_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})(.*)")
_INDENTED = re.compile(r" {4}| {0,3}\t")


class Fences:
    """Reads a file line by line, in order. ``mark`` and ``line`` are of the fence that opened last."""

    def __init__(self) -> None:
        self.mark = ""
        self.line = 0
        self.is_open = False
        self._number = 0

    def cover(self, text: str) -> bool:
        """Whether the next line, given without its end, is code."""
        self._number += 1
        match = _FENCE.match(text)
        if self.is_open:
            closes = match and match[1].startswith(self.mark) and not match[2].strip(" \t")
            self.is_open = not closes
            return True
        if match is None or (match[1][0] == "`" and "`" in match[2]):
            return bool(_INDENTED.match(text))
        self.mark, self.line, self.is_open = match[1], self._number, True
        return True
