"""The keywords of two branches of one type, one by one."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tipstaff.documents.pointer import pointer
from tipstaff.drift.change import NARROWS, UNKNOWN, WIDENS
from tipstaff.drift.inlining import inlined
from tipstaff.drift.keywords import BOUNDS
from tipstaff.drift.parts import Branch, Word
from tipstaff.drift.properties import OBJECT_WORDS, compare_properties
from tipstaff.drift.spots import equal

if TYPE_CHECKING:
    from tipstaff.drift.schemas import Comparison

_UPPER = {"maxLength", "maxItems", "maxProperties", "maxContains"}
_LOWER = {"minLength", "minItems", "minProperties", "minContains"}
_SUBSCHEMAS = {"items", "propertyNames", "contains", "contentSchema"}


def compare_words(comparison: Comparison, old: Branch, new: Branch) -> None:
    """Report each keyword by which the branches differ."""
    if OBJECT_WORDS & (old.words.keys() | new.words.keys()):
        compare_properties(comparison, old, new)
    for word in sorted((old.words.keys() | new.words.keys()) - OBJECT_WORDS):
        was, now = old.words.get(word), new.words.get(word)
        if word in _SUBSCHEMAS and (was is None or now is None or _are_schemas(was, now)):
            _subschema(comparison, word, was, now, old, new)
        elif word == "enum" and was and now:
            _values(comparison, was, now)
        elif word == "prefixItems" and was and now and len(was.value) == len(now.value):
            for place, (one, other) in enumerate(zip(was.value, now.value, strict=True)):
                comparison.parts(one, pointer(was.path, place), other, pointer(now.path, place))
        else:
            _plain(comparison, word, was, now, new)


def _are_schemas(was: Word, now: Word) -> bool:
    return isinstance(was.value, dict | bool) and isinstance(now.value, dict | bool)


def _subschema(
    comparison: Comparison, word: str, was: Word | None, now: Word | None, old: Branch, new: Branch
) -> None:
    if was and now:
        comparison.parts(was.value, was.path, now.value, now.path)
    elif now:
        tell(comparison, word, None, now, NARROWS, f"{word} is limited")
    elif was:
        tell(comparison, word, was, None, WIDENS, f"{word} is no longer limited")


def _values(comparison: Comparison, was: Word, now: Word) -> None:
    gone = [value for value in was.value if not any(equal(value, other) for other in now.value)]
    come = [value for value in now.value if not any(equal(value, other) for other in was.value)]
    if gone:
        tell(comparison, "enum", was, now, NARROWS, f"no longer accepts {_listed(gone)}")
    if come:
        tell(comparison, "enum", was, now, WIDENS, f"accepts {_listed(come)} as well")


def _listed(values: list[Any]) -> str:
    shown = ", ".join(repr(value) if isinstance(value, str) else str(value) for value in values[:5])
    return shown + (f" and {len(values) - 5} more" if len(values) > 5 else "")


def _plain(
    comparison: Comparison, word: str, was: Word | None, now: Word | None, new: Branch
) -> None:
    name = word.strip("()")
    if was is None and now is not None:
        tell(comparison, name, None, now, NARROWS, f"{_spelling(now)} demanded")
        return
    if now is None and was is not None:
        tell(comparison, name, was, None, WIDENS, f"{_spelling(was)} no longer demanded")
        return
    if was is None or now is None or _same(comparison, word, was, now):
        return
    direction = _DIRECTIONS.get(word, lambda _was, _now: UNKNOWN)(was.value, now.value)
    tell(comparison, name, was, now, direction, f"{_spelling(now)} changed")


def _spelling(word: Word) -> str:
    return word.path.rpartition("/")[2]


def _same(comparison: Comparison, word: str, was: Word, now: Word) -> bool:
    if word in ("lower", "upper"):
        return bool(was.value == now.value)
    return equal(inlined(was.value, comparison.old), inlined(now.value, comparison.new))


def _counted(grows: str, shrinks: str) -> Callable[[Any, Any], str]:
    def direction(was: Any, now: Any) -> str:
        if type(was) is not type(now) and not {type(was), type(now)} <= {int, float}:
            return UNKNOWN
        return grows if now > was else shrinks

    return direction


def _lower(was: tuple[float, bool], now: tuple[float, bool]) -> str:
    return NARROWS if now > was else WIDENS


def _upper(was: tuple[float, bool], now: tuple[float, bool]) -> str:
    return WIDENS if (now[0], not now[1]) > (was[0], not was[1]) else NARROWS


def _multiple(was: Any, now: Any) -> str:
    if not (isinstance(was, int) and isinstance(now, int) and was > 0 and now > 0):
        return UNKNOWN
    return NARROWS if now % was == 0 else WIDENS if was % now == 0 else UNKNOWN


_DIRECTIONS: dict[str, Callable[[Any, Any], str]] = {
    "lower": _lower,
    "upper": _upper,
    "multipleOf": _multiple,
    **{word: _counted(WIDENS, NARROWS) for word in _UPPER},
    **{word: _counted(NARROWS, WIDENS) for word in _LOWER},
}


def tell(
    comparison: Comparison,
    about: str,
    was: Word | None,
    now: Word | None,
    direction: str,
    text: str,
) -> None:
    """Report that a keyword differs."""
    from tipstaff.drift.schemas import Difference

    is_tighter = direction in (NARROWS, UNKNOWN)
    here = now or was
    path = here.path if here else comparison.new.path
    covers = [word.path for word in (was, now) if word]
    if about in ("lower", "upper"):
        covers += [pointer(path.rpartition("/")[0], word) for word in BOUNDS]
    comparison.add(
        Difference(
            "constraint_tightened" if is_tighter else "constraint_loosened",
            path,
            _shown(was, about),
            _shown(now, about),
            direction,
            text,
            about=about,
            covers=tuple(covers),
        )
    )


def _shown(word: Word | None, about: str) -> Any:
    if word is None:
        return None
    return word.value[0] if about in ("lower", "upper") else word.value
