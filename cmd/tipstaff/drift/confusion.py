"""Names that look alike, by Unicode's table of confusable characters, and names that mix scripts."""

from __future__ import annotations

import re
import unicodedata
from functools import cache

# Invisible in most fonts, so no part of what a name looks like.
_IGNORABLE = re.compile(
    r"[\u00ad\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\ufe00-\ufe0f\uffa0\U000e0000-\U000e0fff]"
)
_JOINTS = re.compile(r"[\s_\-.:/]+")
_NEUTRAL = {"COMMON", "INHERITED", "UNKNOWN"}
_EAST_ASIAN = {"HAN", "HIRAGANA", "KATAKANA", "HANGUL", "BOPOMOFO"}


def looks(name: str) -> frozenset[str]:
    """What a name looks like, with and without regard to case; names that share one of these look alike.

    Case, separators, accents that combine, and invisible characters make no difference.
    """
    return frozenset({_skeleton(name).casefold(), _skeleton(name.casefold())})


def scripts(name: str) -> list[str]:
    """The scripts of a name's letters; more than one is a mixture, but for what East Asian names mix anyway."""
    if name.isascii():
        return []
    from confusable_homoglyphs import categories

    found = {str(categories.alias(character)) for character in name} - _NEUTRAL
    if len(found - {"LATIN"} - _EAST_ASIAN) == 0 and found & _EAST_ASIAN:
        return []
    return sorted(found)


def _skeleton(name: str) -> str:
    plain = unicodedata.normalize("NFKD", name)
    kept = (
        character
        for character in _IGNORABLE.sub("", plain)
        if unicodedata.category(character) not in ("Cf", "Cn", "Mn", "Me")
    )
    return "".join(prototype(character) for character in _JOINTS.sub("", "".join(kept)))


@cache
def prototype(character: str) -> str:
    """The one text that stands for a character and all that look like it."""
    from confusable_homoglyphs.confusables import confusables_data

    met = {character}
    waiting = [character]
    while waiting:
        for entry in confusables_data.get(waiting.pop(), ()):
            other = entry["c"].strip("\u200e")
            if other not in met:
                met.add(other)
                waiting.append(other)
    plain = [text for text in met if text.isascii() and text.isalnum()]
    return min(plain or met, key=lambda text: (-len(text), text))
