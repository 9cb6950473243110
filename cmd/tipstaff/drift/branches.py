"""Unions: which branch of the old schema became which of the new one, and what came and went."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tipstaff.documents.pointer import pointer
from tipstaff.drift.change import NARROWS, UNKNOWN, WIDENS
from tipstaff.drift.keywords import SILENT, type_of
from tipstaff.drift.parts import Branch, Node
from tipstaff.drift.words import compare_words

if TYPE_CHECKING:
    from tipstaff.drift.schemas import Comparison

_SPOTS = ("type", "anyOf", "oneOf", "enum", "const", "$ref", "allOf", "nullable")
_LISTED_FIRST = ("enum", "const", *_SPOTS)
Pair = tuple[Branch, Branch]


def compare_branches(comparison: Comparison, old: Node, new: Node) -> None:
    """Report what one schema accepts and the other does not."""
    pairs, alone, fresh = _matched(comparison, old.branches, new.branches)
    gone, come = _unabsorbed(comparison, alone, fresh, old.branches, new.branches)
    before = len(comparison.found)
    for one, other in pairs:
        _said_in_branch(comparison, one, other, new)
        compare_words(comparison, one, other)
    changed = bool(gone or come or len(comparison.found) > before)
    changed |= len(old.branches) != len(new.branches)
    if (old.is_exclusive or new.is_exclusive) and (changed or old.is_exclusive != new.is_exclusive):
        _tell(
            comparison,
            (old, new),
            "oneOf",
            UNKNOWN,
            "exactly one of several shapes that overlap must match",
        )
    if _is_numeric(alone) and _is_numeric(fresh):
        gone, come = alone, fresh
    _report(comparison, old, new, gone, come)


def _is_numeric(branches: list[Branch]) -> bool:
    """Whether an integer or a number is all that has no partner: one in place of the other is another type."""
    kinds = [branch.type for branch in branches if branch.type != "null"]
    return len(kinds) == 1 and kinds[0] in ("integer", "number")


def _matched(
    comparison: Comparison, old: list[Branch], new: list[Branch]
) -> tuple[list[Pair], list[Branch], list[Branch]]:
    """Pairs that belong together, and what has no partner on either side."""
    pairs: list[Pair] = []
    gone, come = list(old), list(new)

    def take(one: Branch, other: Branch) -> None:
        pairs.append((one, other))
        gone.remove(one)
        come.remove(other)

    for one in old:
        same = [other for other in come if other.type == one.type]
        if len(same) == 1 and sum(branch.type == one.type for branch in gone) == 1:
            take(one, same[0])
            continue
        for other in same:
            if _direction(comparison, one, other) == (False, False):
                take(one, other)
                break
    for one in list(gone):
        same = [other for other in come if other.type == one.type]
        if same:
            take(one, max(same, key=lambda other: _likeness(one, other)))
    return pairs, gone, come


def _unabsorbed(
    comparison: Comparison,
    gone: list[Branch],
    come: list[Branch],
    old: list[Branch],
    new: list[Branch],
) -> tuple[list[Branch], list[Branch]]:
    """What went and is not accepted by another branch, and what came and was not accepted before."""
    lost = [one for one in gone if not any(_fits(comparison, one, other) for other in new)]
    won = [
        other for other in come if not any(_fits(comparison, other, one, back=True) for one in old)
    ]
    return lost, won


def _fits(comparison: Comparison, inner: Branch, outer: Branch, *, back: bool = False) -> bool:
    """Whether all that one branch accepts is accepted by the other."""
    if inner.type == outer.type or {inner.type, outer.type} <= {"integer", "number"}:
        if (inner.type, outer.type) == ("number", "integer"):
            return False
        old, new = (outer, inner) if back else (inner, outer)
        loses, gains = _direction(comparison, old, new)
        return not (gains if back else loses)
    if outer.type is None and not outer.words:
        return True
    if inner.type == "values" and outer.type and not outer.words:
        kinds = {type_of(value) for value in inner.words["enum"].value}
        return kinds <= ({"integer", "number"} if outer.type == "number" else {outer.type})
    return False


def _direction(comparison: Comparison, old: Branch, new: Branch) -> tuple[bool, bool]:
    comparison.new.spend()
    trial = comparison.trial()
    compare_words(trial, old, new)
    return trial.loses, trial.gains


def _likeness(one: Branch, other: Branch) -> tuple[int, int]:
    """How much two branches look alike: shared names of members with shared constants, then shared keywords."""
    names = [
        set(branch.words["properties"].value) if "properties" in branch.words else set()
        for branch in (one, other)
    ]
    shared = names[0] & names[1]
    constants = sum(
        _constant(one, name) is not None and _constant(one, name) == _constant(other, name)
        for name in shared
    )
    return (100 * constants + len(shared), len(one.words.keys() & other.words.keys()))


def _constant(branch: Branch, name: str) -> Any:
    part = branch.words["properties"].value[name]
    return part.get("const") if isinstance(part, dict) else None


def _said_in_branch(comparison: Comparison, one: Branch, other: Branch, new: Node) -> None:
    from tipstaff.drift.saying import compare_said

    if one.said or other.said:
        compare_said(
            comparison,
            Node({}, one.path or new.path, [], one.said),
            Node({}, other.path or new.path, [], other.said),
            None,
        )


def _report(
    comparison: Comparison, old: Node, new: Node, gone: list[Branch], come: list[Branch]
) -> None:
    nulls = [[one for one in side if one.type == "null"] for side in (gone, come)]
    gone = [one for one in gone if one.type != "null"]
    come = [one for one in come if one.type != "null"]
    if nulls[0]:
        _tell(comparison, (old, new), "null", NARROWS, "null is no longer accepted")
    if nulls[1]:
        _tell(comparison, (old, new), "null", WIDENS, "null is accepted as well")
    if gone and come:
        direction = _type_direction(comparison, gone, come)
        text = f"type changed from {_kinds(old)} to {_kinds(new)}"
        _tell(comparison, (old, new), "type", direction, text, kind="type_changed")
    elif gone:
        _tell(
            comparison,
            (old, new),
            "type",
            NARROWS,
            f"accepts {_kinds(new)} where it accepted {_kinds(old)}",
        )
    elif come:
        _tell(
            comparison,
            (old, new),
            "type",
            WIDENS,
            f"accepts {_kinds(new)} where it accepted {_kinds(old)}",
        )


def _type_direction(comparison: Comparison, gone: list[Branch], come: list[Branch]) -> str:
    within = all(any(_fits(comparison, one, other) for other in come) for one in gone)
    around = all(any(_fits(comparison, other, one, back=True) for one in gone) for other in come)
    return WIDENS if within and not around else NARROWS if around and not within else UNKNOWN


def _kinds(node: Node) -> str:
    kinds = sorted({branch.type or "anything" for branch in node.branches})
    return " or ".join(kind.replace("values", "listed values") for kind in kinds) or "nothing"


def _tell(
    comparison: Comparison,
    sides: tuple[Node, Node],
    about: str,
    direction: str,
    text: str,
    *,
    kind: str = "",
) -> None:
    from tipstaff.drift.schemas import Difference

    old, new = sides
    listed = [any(one.type == "values" for one in node.branches) for node in sides]
    spots = _LISTED_FIRST if listed[0] != listed[1] and about == "type" and not kind else _SPOTS
    path = new.spot(*spots)
    if path == new.path or (spots is _LISTED_FIRST and listed[0]):
        path = old.spot(*spots) if old.spot(*spots) != old.path else path
    is_tighter = direction in (NARROWS, UNKNOWN)
    comparison.add(
        Difference(
            kind or ("constraint_tightened" if is_tighter else "constraint_loosened"),
            path,
            _value(old, path),
            _value(new, path),
            direction,
            text,
            about=about,
            covers=_covered(sides),
        )
    )


def _covered(sides: tuple[Node, Node]) -> tuple[str, ...]:
    """What may be written otherwise where types changed: every keyword that constrains."""
    raws = [node.raw if isinstance(node.raw, dict) else {} for node in sides]
    words = {*_SPOTS, "default"} | {word for raw in raws for word in raw if word not in SILENT}
    return tuple(pointer(node.path, word) for node in sides for word in sorted(words))


def _value(node: Node, path: str) -> Any:
    """What the keyword at the end of a path is in this schema; else a summary of what is accepted."""
    word = path.rpartition("/")[2]
    if isinstance(node.raw, dict) and word in node.raw:
        return node.raw[word]
    if word in ("enum", "const"):
        return None
    kinds = sorted(
        {branch.type for branch in node.branches if branch.type and branch.type != "values"}
    )
    return kinds[0] if len(kinds) == 1 else kinds or None
