"""Answers of tools, with what may differ between two of them masked, and digested.

A mask is a JSON pointer into the tool's result as MCP spells it (``/structuredContent/ts``), and as well into its
structured content and into each text that is itself JSON (``/ts``). Everything else counts: case, spaces, the spelling
of a number in a text. Only a text that is masked inside counts without the spaces between its tokens.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from tipstaff.documents import pointer, strict_json
from tipstaff.documents.base import Json
from tipstaff.drift.spots import spots

_DOMAIN = "tipstaff/canary/1"
_MASK = "<masked>"
_DEPTH = 64


class _Raw(str):
    """A number in the spelling of the text that it stands in, or a mask there: no JSON string."""


@dataclass
class _Text:
    """A text that is JSON: the item of the content, its place, what it says, and whether some of that is masked."""

    item: Json
    place: int
    value: Any
    is_hit: bool = False


def fingerprint(answer: Json, masks: Iterable[str] = ()) -> str:
    """SHA-256 of the canonical answer without what is masked; an error that a server answers with is an answer.

    Raises ``ContractError`` (``json.not_canonical``) for what has no canonical form.
    """
    return strict_json.digest(masked(answer, masks)[0], domain=_DOMAIN)


def masked(answer: Json, masks: Iterable[str]) -> tuple[Json, set[str]]:
    """The answer with its masks laid over, and those masks that something was found under."""
    found, texts = _opened(answer)
    hit = {mask for mask in masks if _cover(found.get("result"), texts, mask)}
    for text in texts:
        if text.is_hit:
            text.item["text"] = _written(text.value)
    return found, hit


def differences(answers: Sequence[Json], masks: Iterable[str]) -> list[str]:
    """Pointers, in the spelling of masks, at which masked answers still differ."""
    shown = []
    for answer in answers:
        found, texts = _opened(masked(answer, masks)[0])
        for text in texts:
            text.item["text"] = text.value
        shown.append(found.get("result", found))
    return sorted({spot.path for other in shown[1:] for spot in spots(shown[0], other, "")})


def _opened(answer: Json) -> tuple[Json, list[_Text]]:
    found = copy.deepcopy(answer)
    result = found.get("result")
    content = result.get("content") if isinstance(result, dict) else None
    items = enumerate(content if isinstance(content, list) else [])
    texts = [
        _Text(item, place, _parsed(item.get("text")))
        for place, item in items
        if isinstance(item, dict)
    ]
    return found, [text for text in texts if text.value is not None]


def _cover(result: Any, texts: list[_Text], mask: str) -> bool:
    if not isinstance(result, dict):
        return False
    steps = pointer.steps(mask)
    hits = [_replace(result, steps, _MASK), _replace(result.get("structuredContent"), steps, _MASK)]
    for text in texts:
        base = ["content", str(text.place), "text"]
        inside = steps[3:] if steps[:3] == base else steps
        is_hit = bool(inside) and _replace(text.value, inside, _Raw(_MASK))
        text.is_hit |= is_hit
        hits.append(is_hit)
    return any(hits)


def _replace(value: Any, steps: list[str], mask: str) -> bool:
    for step in steps[:-1]:
        place = _place(value, step)
        value = None if place is None else value[place]
    place = _place(value, steps[-1])
    if place is None:
        return False
    value[place] = mask
    return True


def _place(value: Any, step: str) -> str | int | None:
    """The key or index that a step names in an object or a list, if it is there."""
    if isinstance(value, dict):
        return step if step in value else None
    is_index = step.isascii() and step.isdecimal() and len(step) < 10 and str(int(step)) == step
    return int(step) if isinstance(value, list) and is_index and int(step) < len(value) else None


def _parsed(text: Any) -> Any:
    """The JSON in a text with its numbers as they are written; None for what is no plain object or list."""
    if not isinstance(text, str) or text.lstrip()[:1] not in ("{", "["):
        return None
    try:
        value = json.loads(
            text, parse_int=_Raw, parse_float=_Raw, parse_constant=_Raw, object_pairs_hook=_pairs
        )
    except (ValueError, RecursionError):
        return None
    return value if _is_flat(value) else None


def _pairs(items: list[tuple[str, Any]]) -> Json:
    found = dict(items)
    if len(found) != len(items):
        raise ValueError("a key twice")
    return found


def _is_flat(value: Any) -> bool:
    level = [value]
    for _ in range(_DEPTH):
        lists = [list(one.values()) if isinstance(one, dict) else one for one in level]
        level = [item for one in lists for item in one if isinstance(item, dict | list)]
    return not level


def _written(value: Any) -> str:
    if isinstance(value, _Raw):
        return str(value)
    if isinstance(value, dict):
        members = (f"{json.dumps(key)}:{_written(item)}" for key, item in value.items())
        return "{" + ",".join(members) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(_written, value)) + "]"
    return json.dumps(value)
