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


def _escape(match: re.Match[str]) -> str:
    return "".join(f"\\u{{{ord(character):x}}}" for character in match.group())
