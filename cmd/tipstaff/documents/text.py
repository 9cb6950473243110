"""Text that came from outside, made safe to show: nothing hidden, nothing that moves a cursor."""

from __future__ import annotations

import unicodedata

SHOWN_CHARACTERS = 2000


def visible(text: str, *, limit: int = SHOWN_CHARACTERS, multiline: bool = False) -> str:
    """The text with control, format, private, unassigned and surrogate characters as ``\\u{…}`` escapes.

    ``multiline`` keeps newlines and tabs. Text beyond ``limit`` characters is cut and says so.
    """
    shown = "".join(_shown(character, multiline) for character in text[:limit])
    return shown if len(text) <= limit else f"{shown}… ({len(text) - limit} characters more)"


def untrusted(text: str, *, limit: int = SHOWN_CHARACTERS) -> dict[str, object]:
    """Outside text as a record: escaped, capped, and labelled as what it is."""
    return {"untrusted": True, "text": visible(text, limit=limit, multiline=True)}


def _shown(character: str, multiline: bool) -> str:
    if multiline and character in "\n\t":
        return character
    category = unicodedata.category(character)
    if category[0] == "C" or category in ("Zl", "Zp"):
        return f"\\u{{{ord(character):x}}}"
    return character
