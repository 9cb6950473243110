"""Characters that a reader does not see and a model does, and text made to be overlooked."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from typing import Any

from tipstaff.documents.pointer import pointer

_CLASSES = (
    ("tag", re.compile("[\U000e0000-\U000e007f]")),
    (
        "zero_width",
        re.compile(
            "[\u00ad\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200d\u2060-\u2064\u3164\ufeff\uffa0]"
        ),
    ),
    ("bidi", re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")),
    ("variation", re.compile("[\ufe00-\ufe0f\U000e0100-\U000e01ef]")),
    ("private_use", re.compile("[\ue000-\uf8ff\U000f0000-\U0010ffff]")),
    ("line", re.compile("[\u2028\u2029]")),
)
_ASCII_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
# An emoji with its usual marks: a picture, its presentation, and the joiner between two of them.
_EMOJI = re.compile(
    "[\u00a9\u00ae\u203c-\u3299\U0001f000-\U0001faff][\ufe0e\ufe0f]?(?:\u20e3|[\U0001f3fb-\U0001f3ff])?"
    "(?:\u200d[\u2600-\u27bf\U0001f000-\U0001faff]\ufe0f?[\U0001f3fb-\U0001f3ff]?)*|[0-9#*]\ufe0f\u20e3"
)
_COMMENT = re.compile(r"<!--")
_ENCODED = re.compile(r"(?<![A-Za-z0-9+/=])[A-Za-z0-9+/]{60,}={0,2}(?![A-Za-z0-9+/=])")
_BLANK = re.compile(r"[ \t\u00a0\u2000-\u200a\u3000]{40,}|(?:[ \t]*\r?\n){12,}")


def classes_in(text: str, *, is_name: bool = False) -> dict[str, list[str]]:
    """Class: the characters of it in a text, as ``U+200B``. In a name nothing is let through, not even in emoji."""
    if text.isascii():
        found: dict[str, list[str]] = {}
        controls = r"[\x00-\x1f\x7f]" if is_name else _ASCII_CONTROL
        _note(found, "control", re.findall(controls, text))
    else:
        found = _beyond_ascii(text if is_name else _EMOJI.sub("", text), is_name=is_name)
    if not is_name:
        for name, pattern in (("comment", _COMMENT), ("encoded", _ENCODED), ("blank", _BLANK)):
            if len(text) > 3 and pattern.search(text):
                found[name] = []
    return found


def _beyond_ascii(text: str, *, is_name: bool) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for name, pattern in _CLASSES:
        _note(found, name, pattern.findall(text))
    known = {character for name, pattern in _CLASSES for character in pattern.findall(text)}
    for character in sorted(set(text) - known):
        category = unicodedata.category(character)
        if category == "Cc" and (is_name or character not in "\n\r\t"):
            _note(found, "control", [character])
        elif category in ("Cf", "Cs"):
            _note(found, "format", [character])
        elif category == "Cn":
            _note(found, "unassigned", [character])
    return found


def _note(found: dict[str, list[str]], name: str, characters: list[str]) -> None:
    if characters:
        codes = {f"U+{ord(character):04X}" for character in characters}
        found[name] = sorted({*found.get(name, []), *codes})


def strings(value: Any, path: str) -> Iterator[tuple[str, str, bool]]:
    """Every string in some JSON with its pointer, keys too; and whether it is a key."""
    if isinstance(value, str):
        yield path, value, False
    elif isinstance(value, dict):
        for key, item in value.items():
            here = pointer(path, key)
            yield here, key, True
            yield from strings(item, here)
    elif isinstance(value, list):
        for place, item in enumerate(value):
            yield from strings(item, pointer(path, place))
