"""Where two JSON values differ: the narrowest members, as pointers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from tipstaff.documents.pointer import pointer


class Spot(NamedTuple):
    """A pointer, and what stands there on either side; None where nothing does."""

    path: str
    before: Any
    after: Any


def equal(one: Any, other: Any) -> bool:
    """Whether two JSON values are the same; to Python true and 1 are, and in JSON they are not."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(
            equal(item, other[key]) for key, item in one.items()
        )
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(equal, one, other))
    return isinstance(one, bool) == isinstance(other, bool) and bool(one == other)


def spots(before: Any, after: Any, path: str) -> Iterator[Spot]:
    """Each narrowest difference; lists that differ are aligned by deepdiff."""
    if equal(before, after):
        return
    if isinstance(before, dict) and isinstance(after, dict):
        for key in before.keys() | after.keys():
            if key in before and key in after:
                yield from spots(before[key], after[key], pointer(path, key))
            else:
                yield Spot(pointer(path, key), before.get(key), after.get(key))
    elif isinstance(before, list) and isinstance(after, list) and _is_nested(before + after):
        yield from _aligned(before, after, path)
    else:
        yield Spot(path, before, after)


def _is_nested(items: list[Any]) -> bool:
    return any(isinstance(item, dict | list) for item in items)


def _aligned(before: list[Any], after: list[Any], path: str) -> Iterator[Spot]:
    from deepdiff import DeepDiff
    from deepdiff.helper import notpresent

    found = DeepDiff(before, after, view="tree", ignore_order=False, verbose_level=2)
    count = 0
    for kind in found:
        for level in found[kind]:
            count += 1
            steps = level.path(output_format="list")
            sides = [None if side is notpresent else side for side in (level.t1, level.t2)]
            yield Spot(pointer(path, *steps), *sides)
    if not count:  # deepdiff takes some values for equal that JSON does not
        yield Spot(path, before, after)
