"""The normal form of a JSON Schema: what it accepts, however it is written.

A schema becomes a union of branches, each of one type. References are followed, ``allOf`` is merged where that is
sound, nullable spellings become a branch for null, keywords without effect are dropped. What has no such form is kept
verbatim under its keyword, and compared so.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from urllib.parse import unquote

from tipstaff.documents.pointer import pointer, steps
from tipstaff.drift.keywords import (
    CHOICES,
    IGNORED,
    SILENT,
    TYPES,
    VALUES,
    clean,
    is_constraint,
    relevant,
    spelled,
)
from tipstaff.drift.parts import Branch, Node, Said, Word
from tipstaff.drift.spots import equal
from tipstaff.drift.unions import MAX_BRANCHES, are_apart, both, is_of, joined

_MAX_REFERENCES = 100
_MAX_STEPS = 20_000


class TooComplex(Exception):
    """A schema whose references multiply beyond what is followed."""


class Document:
    """A schema with the definitions that its references name."""

    def __init__(self, root: Any, path: str) -> None:
        self.root = root
        self.path = path
        self._known: dict[str, Node] = {}
        self._active: set[str] = set()
        self._left = _MAX_STEPS

    def spend(self) -> None:
        """Count one step of work; raises ``TooComplex`` after very many."""
        self._left -= 1
        if self._left < 0:
            raise TooComplex

    def node(self, raw: Any, path: str) -> Node:
        """The normal form of a schema that stands at a path of this document; of what it refers to, if it only does."""
        raw, path = self._followed(raw, path)
        if path not in self._known:
            node = Node(raw, path, [], {})
            node.branches = self._expand(raw, path, node)
            if len([one for one in node.branches if one.type != "null"]) == 1:
                for branch in node.branches:
                    for word, items in branch.said.items():
                        node.said.setdefault(word, []).extend(items)
                    branch.said = {}
            self._known[path] = node
        return self._known[path]

    def _followed(self, raw: Any, path: str) -> tuple[Any, str]:
        met: set[str] = set()
        while isinstance(raw, dict) and raw.keys() == {"$ref"} and path not in met:
            met.add(path)
            self.spend()
            found = self.target(raw["$ref"])
            if found is None:
                break
            raw, path = found
        return raw, path

    def target(self, reference: Any) -> tuple[Any, str] | None:
        """What a local reference points to, and where that is; None for any other."""
        if not isinstance(reference, str) or not reference.startswith("#"):
            return None
        value, path = self.root, self.path
        for step in steps(unquote(reference[1:])):
            key: Any = step
            if (
                isinstance(value, list)
                and key.isdecimal()
                and len(key) < 6
                and int(key) < len(value)
            ):
                key = int(key)
            elif not isinstance(value, dict) or key not in value:
                return None
            value, path = value[key], pointer(path, key)
        return (value, path) if reference == "#" or reference.startswith("#/") else None

    def _expand(self, raw: Any, path: str, node: Node) -> list[Branch]:
        if isinstance(raw, bool):
            return [Branch(None, path=path)] if raw else []
        if not isinstance(raw, dict):
            return [Branch(None, {"(malformed)": Word(raw, path)}, path=path)]
        if path in self._active:
            return []
        self.spend()
        if len(self._active) > _MAX_REFERENCES:
            raise TooComplex
        self._active.add(path)
        try:
            return self._combined(raw, path, node)
        finally:
            self._active.discard(path)

    def _combined(self, raw: dict[str, Any], path: str, node: Node) -> list[Branch]:
        found = _own(raw, path)
        for word, value in raw.items():
            if word in SILENT or not (is_constraint(word) or word in CHOICES or word in IGNORED):
                node.said.setdefault(word, []).append(Said(value, pointer(path, word)))
        for part in self._parts(raw, path, node):
            found = both(found, part)
        return found

    def _parts(self, raw: dict[str, Any], path: str, node: Node) -> Iterator[list[Branch]]:
        """What the schema demands besides its own keywords: references and combinations."""
        if "$ref" in raw:
            target = self.target(raw["$ref"])
            if target is None:
                yield [_verbatim("$ref", raw, path)]
            elif target[1] not in self._active:
                yield self._expand(*target, node)
        for word in ("anyOf", "oneOf"):
            if isinstance(raw.get(word), list):
                yield self._choice(word, raw, path, node)
            elif word in raw:
                yield [_verbatim(word, raw, path)]
        if isinstance(raw.get("allOf"), list):
            for place, part in enumerate(raw["allOf"]):
                yield self._expand(part, pointer(path, "allOf", place), node)
        elif "allOf" in raw:
            yield [_verbatim("allOf", raw, path)]

    def _choice(self, word: str, raw: dict[str, Any], path: str, node: Node) -> list[Branch]:
        found: list[Branch] = []
        for place, part in enumerate(raw[word]):
            said = Node(part, path, [], {})
            here = pointer(path, word, place)
            branches = self._expand(part, here, said)
            if said.is_exclusive:
                # Which of several shapes that overlap match is lost among further choices.
                branches = [Branch(None, {"(oneOf)": Word(part, here)}, path=here)]
            for branch in branches:
                for name, items in said.said.items():
                    branch.said.setdefault(name, []).extend(items)
                found.append(branch)
        if len(found) > MAX_BRANCHES:
            return [_verbatim(word, raw, path)]
        listed = joined(found)
        if word == "oneOf" and not are_apart(listed):
            node.is_exclusive = True
        return listed


def _own(raw: dict[str, Any], path: str) -> list[Branch]:
    """The branches of a schema's own keywords."""
    words = {
        word: Word(value, pointer(path, spelled(word, raw)))
        for word, value in clean(raw).items()
        if is_constraint(word) and word not in VALUES
    }
    kinds = _kinds(raw)
    listed = _values(raw)
    if listed is not None:
        values = [value for value in listed if kinds is None or is_of(value, kinds)]
        spot = pointer(path, "const" if "const" in raw else "enum")
        rest = [value for value in values if value is not None]
        found = [Branch("values", {**words, "enum": Word(rest, spot)}, path=path)] if rest else []
        return found + ([Branch("null", path=path)] if len(rest) < len(values) else [])
    if kinds is None:
        return [Branch(None, words, path=path)]
    found = [Branch(kind, relevant(words, kind), path=path) for kind in kinds]
    takes_null = raw.get("nullable") is True or ("default" in raw and raw["default"] is None)
    if takes_null and "null" not in kinds:
        found.append(Branch("null", path=path))
    return found


def _kinds(raw: dict[str, Any]) -> list[str] | None:
    kinds = raw.get("type")
    named = [kinds] if isinstance(kinds, str) else kinds
    if not isinstance(named, list) or not all(isinstance(kind, str) for kind in named):
        return None
    found = sorted({kind for kind in named if kind in TYPES} or set(named))
    return [kind for kind in found if not (kind == "integer" and "number" in found)]


def _values(raw: dict[str, Any]) -> list[Any] | None:
    if "const" in raw:
        return [raw["const"]]
    values = raw.get("enum")
    if not isinstance(values, list):
        return None
    unique: list[Any] = []
    for value in values:
        if not any(equal(value, other) for other in unique):
            unique.append(value)
    return unique


def _verbatim(word: str, raw: dict[str, Any], path: str) -> Branch:
    return Branch(None, {f"({word})": Word(raw[word], pointer(path, word))}, path=path)
