"""Unions of branches: what is accepted by either, by both, and by one only."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tipstaff.drift.keywords import relevant, type_of
from tipstaff.drift.parts import Branch, Word
from tipstaff.drift.spots import equal

MAX_BRANCHES = 64


def is_of(value: Any, kinds: Iterable[str]) -> bool:
    """Whether a value is of one of these types."""
    kind = type_of(value)
    return kind in kinds or (kind == "integer" and "number" in kinds)


def joined(branches: list[Branch]) -> list[Branch]:
    """The branches with those of listed values made one, and with one for null."""
    values: list[Any] = []
    first: Branch | None = None
    found: list[Branch] = []
    for branch in branches:
        if branch.type == "values" and branch.words.keys() == {"enum"} and not branch.said:
            values += branch.words["enum"].value
            first = first or branch
        elif branch.type == "null" and any(one.type == "null" for one in found):
            continue
        else:
            found.append(branch)
    if first:
        found.insert(
            0, Branch("values", {"enum": Word(values, first.words["enum"].path)}, path=first.path)
        )
    return found


def are_apart(branches: list[Branch]) -> bool:
    """Whether no instance can match two of the branches, as far as types and constant members tell."""
    kinds = [branch.type for branch in branches]
    if None in kinds or "values" in kinds:
        return len(branches) == 1
    if len(set(kinds)) == len(kinds) and not {"integer", "number"} <= set(kinds):
        return True
    return set(kinds) == {"object"} and _has_discriminator(branches)


def _has_discriminator(branches: list[Branch]) -> bool:
    tags = [_constants(branch) for branch in branches]
    shared = set.intersection(*(set(tag) for tag in tags))
    return any(len({repr(tag[name]) for tag in tags}) == len(tags) for name in shared)


def _constants(branch: Branch) -> dict[str, Any]:
    required = branch.words["required"].value if "required" in branch.words else []
    properties = branch.words["properties"].value if "properties" in branch.words else {}
    return {
        name: part["const"]
        for name, part in properties.items()
        if name in required and isinstance(part, dict) and "const" in part
    }


def both(these: list[Branch], those: list[Branch]) -> list[Branch]:
    """What both unions accept."""
    if len(these) == 1 and these[0].type is None and not these[0].words:
        return those
    if len(those) == 1 and those[0].type is None and not those[0].words:
        return these
    if len(these) * len(those) > MAX_BRANCHES:
        return [_merged(these[0], Branch(None, {"(allOf)": Word([repr(those)], these[0].path)}))]
    return [
        _merged(one, other)
        for one in these
        for other in those
        if _type_of_both(one, other) is not False
    ]


def _type_of_both(one: Branch, other: Branch) -> str | bool | None:
    kinds = {one.type, other.type}
    if None in kinds:
        return next((kind for kind in kinds if kind is not None), None)
    if len(kinds) == 1:
        return one.type
    if kinds == {"integer", "number"}:
        return "integer"
    if "values" in kinds:
        return "values"
    return False


def _merged(one: Branch, other: Branch) -> Branch:
    words = dict(one.words)
    kind = _type_of_both(one, other)
    clash: dict[str, Any] = {}
    for word, found in other.words.items():
        joined_word = _word_of_both(word, words, found, other.words)
        if joined_word is None:
            clash[word] = found.value
        else:
            words[word] = joined_word
    if kind == "values":
        listed = next((part for part in (one, other) if part.type not in ("values", None)), None)
        if listed and listed.type:
            kept = [value for value in words["enum"].value if is_of(value, [listed.type])]
            words["enum"] = Word(kept, words["enum"].path)
    if clash:
        earlier = words["(allOf)"].value if "(allOf)" in words else []
        words["(allOf)"] = Word([*earlier, clash], other.path)
    said = {**one.said}
    for name, items in other.said.items():
        said[name] = [*said.get(name, []), *items]
    kept_words = relevant(words, kind) if isinstance(kind, str) and kind != "values" else words
    return Branch(kind if isinstance(kind, str) else None, kept_words, said, other.path or one.path)


def _word_of_both(
    word: str, words: dict[str, Word], found: Word, others: dict[str, Word]
) -> Word | None:
    """A keyword that demands what both demand; None where no single one does."""
    if word not in words:
        return None if _interferes(word, words) else found
    have = words[word]
    if word == "properties" and _can_join(words, others):
        return _members_of_both(have, found)
    if equal(have.value, found.value):
        return have
    if word == "required":
        return Word(sorted({*have.value, *found.value}), found.path)
    if word == "enum":
        kept = [value for value in have.value if any(equal(value, at) for at in found.value)]
        return Word(kept, found.path)
    return None


def _can_join(words: dict[str, Word], others: dict[str, Word]) -> bool:
    """Whether members of two schemas may stand side by side: nothing closes either, and no name is described twice."""
    if "properties" not in words or (words.keys() | others.keys()) & (_TOGETHER - {"properties"}):
        return False
    before, after = words["properties"].value, others["properties"].value
    return all(equal(before[name], after[name]) for name in before.keys() & after.keys())


def _members_of_both(one: Word, other: Word) -> Word:
    paths = {name: word.path_of(name) for word in (one, other) for name in word.value}
    return Word({**one.value, **other.value}, one.path, paths)


_TOGETHER = {"properties", "additionalProperties", "patternProperties", "unevaluatedProperties"}


def _interferes(word: str, words: dict[str, Word]) -> bool:
    """Whether a keyword would mean another thing among these: what one schema closes, the other's names don't open."""
    if word not in _TOGETHER:
        return False
    closing = {"additionalProperties", "unevaluatedProperties"}
    return bool(words.keys() & closing) if word not in closing else bool(words.keys() & _TOGETHER)
