"""Objects: which members came, went, were renamed, or must now be given, and what else may be there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tipstaff.documents.pointer import pointer
from tipstaff.drift.change import INPUT, NARROWS, UNKNOWN, WIDENS
from tipstaff.drift.parts import Branch, Word
from tipstaff.drift.renames import renamed_members
from tipstaff.drift.shapes import Document

if TYPE_CHECKING:
    from tipstaff.drift.schemas import Comparison

OBJECT_WORDS = frozenset({"properties", "required", "additionalProperties", "patternProperties"})
_NOTHING: dict[str, Any] = {}


class Members:
    """The members of an object that one branch describes."""

    def __init__(self, branch: Branch, document: Document, side: str) -> None:
        words = branch.words
        properties, required = words.get("properties"), words.get("required")
        self.schemas: dict[str, Any] = dict(properties.value) if properties else {}
        self.listed: list[str] = required.value if required else []
        self.required_path = required.path if required else ""
        self.base = branch.path
        self.additional = words.get("additionalProperties")
        for name in self.listed:
            self.schemas.setdefault(name, True)
        self._properties = properties
        self.needed = {
            name
            for name in self.listed
            if side != INPUT or not _has_default(self.schemas[name], document)
        }

    def path_of(self, name: str) -> str:
        """Where a member is described, or else demanded."""
        if self._properties and name in self._properties.value:
            return self._properties.path_of(name)
        return self.required_path


def compare_properties(comparison: Comparison, old_branch: Branch, new_branch: Branch) -> None:
    """Report the differences of two objects."""
    old = Members(old_branch, comparison.old, comparison.side)
    new = Members(new_branch, comparison.new, comparison.side)
    gone = [name for name in old.schemas if name not in new.schemas]
    come = [name for name in new.schemas if name not in old.schemas]
    renames = renamed_members(comparison, old, new, gone, come) if gone and come else {}
    for name, other in renames.items():
        _renamed(comparison, old, new, name, other)
    for name in gone:
        if name not in renames:
            _removed(comparison, old, new, name)
    for name in come:
        if name not in renames.values():
            _added(comparison, old, new, name)
    for name in old.schemas:
        if name in new.schemas:
            _kept(comparison, old, new, name)
    _additional(comparison, old, new)
    _patterns(comparison, old_branch, new_branch)


def _kept(comparison: Comparison, old: Members, new: Members, name: str) -> None:
    if (name in old.needed) != (name in new.needed):
        _needed(comparison, old, new, name)
    comparison.parts(
        old.schemas[name], old.path_of(name), new.schemas[name], new.path_of(name), name
    )


def _needed(comparison: Comparison, old: Members, new: Members, name: str) -> None:
    from tipstaff.drift.schemas import Difference

    is_needed = name in new.needed
    comparison.add(
        Difference(
            "required_added" if is_needed else "required_removed",
            new.required_path or old.required_path,
            old.listed,
            new.listed,
            NARROWS if is_needed else WIDENS,
            f"{name} {'must now be given' if is_needed else 'may now be left out'}",
            about=name,
            covers=_required(old, new),
        )
    )


def _required(old: Members, new: Members) -> tuple[str, ...]:
    return tuple(path for path in (old.required_path, new.required_path) if path)


def _added(comparison: Comparison, old: Members, new: Members, name: str) -> None:
    from tipstaff.drift.schemas import Difference

    is_needed = name in new.needed
    comparison.add(
        Difference(
            "param_added_required" if is_needed else "param_added_optional",
            new.path_of(name),
            None,
            new.schemas[name],
            _direction_of_added(comparison.side, old, is_needed=is_needed),
            f"{name} added, {'required' if is_needed else 'optional'}",
            about=name,
            covers=_required(old, new),
        )
    )


def _direction_of_added(side: str, old: Members, *, is_needed: bool) -> str:
    """To a callee a new member is a new thing to send; to a reader it is one only where no other was to come."""
    if side == INPUT:
        return NARROWS if is_needed else WIDENS
    return NARROWS if _openness(old.additional) else WIDENS


def _direction_of_removed(side: str, old: Members, name: str) -> str:
    """What no longer says how it looks may look in any way, unless nothing unnamed may come."""
    if side == INPUT:
        return NARROWS
    return WIDENS if _openness(old.additional) or name in old.needed else NARROWS


def _removed(comparison: Comparison, old: Members, new: Members, name: str) -> None:
    from tipstaff.drift.schemas import Difference

    comparison.add(
        Difference(
            "param_removed",
            old.path_of(name),
            old.schemas[name],
            None,
            _direction_of_removed(comparison.side, old, name),
            f"{name} removed",
            about=name,
            covers=_required(old, new),
        )
    )


def _renamed(comparison: Comparison, old: Members, new: Members, name: str, other: str) -> None:
    from tipstaff.drift.schemas import Difference

    comparison.add(
        Difference(
            "param_renamed",
            old.path_of(name),
            name,
            other,
            UNKNOWN,
            f"{name} renamed to {other}",
            about=name,
            covers=(new.path_of(other), *_required(old, new)),
        )
    )
    if (name in old.needed) != (other in new.needed):
        _needed(comparison, old, new, other)
    comparison.parts(
        old.schemas[name], old.path_of(name), new.schemas[other], new.path_of(other), other
    )


def _additional(comparison: Comparison, old: Members, new: Members) -> None:
    """What other members may be there: any, none, or those of a schema."""
    from tipstaff.drift.words import tell

    was, now = old.additional, new.additional
    if was and now and isinstance(was.value, dict) and isinstance(now.value, dict):
        comparison.parts(was.value, was.path, now.value, now.path)
        return
    ranks = [_openness(side) for side in (was, now)]
    if ranks[0] == ranks[1]:
        return
    direction = WIDENS if ranks[1] > ranks[0] else NARROWS
    words = (
        "no other members are accepted",
        "other members are limited",
        "any other members are accepted",
    )
    tell(comparison, "additionalProperties", was, now, direction, words[ranks[1]])


def _openness(word: Word | None) -> int:
    if word is None or word.value is True:
        return 2
    return 0 if word.value is False else 1


def _patterns(comparison: Comparison, old: Branch, new: Branch) -> None:
    from tipstaff.drift.words import tell

    was, now = old.words.get("patternProperties"), new.words.get("patternProperties")
    before, after = (was.value if was else _NOTHING), (now.value if now else _NOTHING)
    for pattern in sorted(before.keys() | after.keys()):
        if pattern in before and pattern in after and was and now:
            comparison.parts(
                before[pattern],
                pointer(was.path, pattern),
                after[pattern],
                pointer(now.path, pattern),
            )
        else:
            tell(
                comparison, "patternProperties", was, now, UNKNOWN, f"names like {pattern} changed"
            )


def _has_default(schema: Any, document: Document) -> bool:
    for _ in range(20):
        if not isinstance(schema, dict):
            return False
        if "default" in schema:
            return True
        target = document.target(schema.get("$ref"))
        if target is None:
            return False
        schema = target[0]
    return False
