"""Keywords that constrain nothing and are still read: descriptions, titles, defaults, and what no standard knows."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from tipstaff.drift.change import NONE
from tipstaff.drift.keywords import SILENT
from tipstaff.drift.parts import Node, Said
from tipstaff.drift.spots import equal

if TYPE_CHECKING:
    from tipstaff.drift.schemas import Comparison

_KINDS = {"title": "title_changed", "default": "default_changed"}
_WORDS = re.compile(r"[0-9a-z]+")
_GENERATED_ENDINGS = (
    "",
    "arguments",
    "args",
    "dictoutput",
    "input",
    "inputschema",
    "output",
    "params",
    "schema",
)


def compare_said(comparison: Comparison, old: Node, new: Node, name: str | None) -> None:
    """Report each such keyword that says another thing in the new schema."""
    from tipstaff.drift.schemas import Difference

    for word in sorted(old.said.keys() | new.said.keys()):
        before, after = old.said.get(word, []), new.said.get(word, [])
        if _same(word, before, after, name):
            continue
        place = _first_difference(before, after)
        was, now = _at(before, place), _at(after, place)
        kind = _KINDS.get(word, "description_changed" if word in SILENT else "annotation_changed")
        path = now.path if now else was.path if was else new.path
        comparison.add(
            Difference(
                kind,
                path,
                was.value if was else None,
                now.value if now else None,
                NONE,
                f"{word} {_verb(was, now)}",
                about=word if word in SILENT else "unknown",
                covers=tuple(said.path for said in (*before, *after)),
            )
        )


def is_generated(title: Any, name: str | None) -> bool:
    """Whether a title is what generators make of the name of a parameter or a tool, or of the function behind it.

    A function is often called as the last words of its tool: ``create_branch`` behind ``git_create_branch``.
    """
    if not isinstance(title, str) or name is None or not title.isascii():
        return False
    words, given = _WORDS.findall(name.lower()), _plain(title)
    tails = ["".join(words[place:]) for place in range(len(words))] or [""]
    return any(given == tail + ending for tail in tails for ending in _endings(tail, tails[0]))


def _endings(tail: str, whole: str) -> tuple[str, ...]:
    return _GENERATED_ENDINGS if tail == whole else ("arguments",)


def _plain(text: str) -> str:
    return re.sub(r"[^0-9a-z]", "", text.lower())


def _same(word: str, before: list[Said], after: list[Said], name: str | None) -> bool:
    sides = [[said.value for said in side] for side in (before, after)]
    if word == "title":
        sides = [[title for title in side if not is_generated(title, name)] for side in sides]
    elif word == "default":
        # What is left out is null to the callee, whether the schema says so or not.
        sides = [[value for value in side[:1] if value is not None] for side in sides]
    elif word in ("readOnly", "writeOnly", "deprecated"):
        sides = [[value for value in side if value is not False] for side in sides]
    return equal(sides[0], sides[1])


def _first_difference(before: list[Said], after: list[Said]) -> int:
    for place, (was, now) in enumerate(zip(before, after, strict=False)):
        if not equal(was.value, now.value):
            return place
    return min(len(before), len(after))


def _at(side: list[Said], place: int) -> Said | None:
    return side[place] if place < len(side) else None


def _verb(was: Said | None, now: Said | None) -> str:
    return "added" if was is None else "removed" if now is None else "changed"
