"""Outside text inside Markdown: shown as it is, never obeyed.

A code span is the one place where neither Markdown, HTML, mentions, issue references nor links are read. So
outside text goes into one, and what could end it is escaped as hidden characters are.
"""

from __future__ import annotations

import re

from tipstaff.documents.redaction import redact_text
from tipstaff.documents.text import visible

SHOWN = 200
_BREAKING = re.compile(r"[`|]|^ +| +$")
_SPAN = re.compile(r"(?<!`)(`[^`]+`)(?!`)")
_CELL = re.compile(r"\|")
# In words an underscore is one; at their ends it would be emphasis.
_ACTIVE = re.compile(
    r"[\\`|\[\]&*~@]|<(?=[A-Za-z/!?])|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])|(?<=:)//|(?<=www)\."
)
# What would begin a heading, a list, a quotation, a rule or a fence.
_BLOCK = re.compile(r"^([0-9]*)([-+#=>.)])")


def code(text: str, *, limit: int = SHOWN) -> str:
    """The text as one code span on one line, safe in paragraphs, lists, headings and tables.

    Backticks, pipes and outer spaces become ``\\u{…}`` escapes; beyond about ``limit`` characters it is cut.
    """
    if not text:
        return "`(empty)`"
    shown = _BREAKING.sub(_escape, visible(redact_text(text), limit=limit))
    # Escapes make text longer: the second cut bounds what is written, not what was read.
    most = limit + 40
    return f"`{shown if len(shown) <= most else shown[:most] + '…'}`"


def prose(text: str) -> str:
    """The text as one line of words, in which code spans stay code and nothing else is Markdown, HTML or a link.

    Safe in paragraphs, headings and table cells. It may be of any length.
    """
    line = " ".join(text.split())
    pieces = _SPAN.split(visible(line, limit=len(line)))
    shown = "".join(
        _CELL.sub(_escape, piece) if place % 2 else _ACTIVE.sub(r"\\\g<0>", piece)
        for place, piece in enumerate(pieces)
    )
    return _BLOCK.sub(r"\1\\\2", shown)


def _escape(match: re.Match[str]) -> str:
    return "".join(f"\\u{{{ord(character):x}}}" for character in match.group())
