"""What two JSON Schemas accept differently: each difference with its direction and its place.

Two schemas are walked side by side in their normal form. Where nobody can tell whether more or less is accepted, the
direction is ``unknown``.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from tipstaff.documents.pointer import pointer
from tipstaff.drift.branches import compare_branches
from tipstaff.drift.change import INPUT, NARROWS, UNKNOWN, WIDENS
from tipstaff.drift.parts import Node
from tipstaff.drift.saying import compare_said
from tipstaff.drift.shapes import Document, TooComplex
from tipstaff.drift.spots import equal


@dataclass(frozen=True)
class Difference:
    """One difference of two schemas, as ``Change`` has it."""

    kind: str
    path: str
    before: Any
    after: Any
    direction: str
    message: str
    about: str = ""
    covers: tuple[str, ...] = ()
    more: dict[str, Any] = field(default_factory=dict)


class Comparison:
    """One walk over two schemas; ``found`` has what differs, in the order of the walk.

    ``side`` is ``input`` or ``output``: a parameter that has a default may be left out of what is sent though the
    schema calls it required, which is how some generators describe what comes after parsing.
    """

    def __init__(self, old: Document, new: Document, side: str) -> None:
        self.old, self.new, self.side = old, new, side
        self.found: list[Difference] = []
        self._met: set[tuple[str, str]] = set()
        self._open: list[tuple[str, str]] = []

    def run(self, name: str) -> list[Difference]:
        """Compare both documents from their roots; ``name`` is the tool's."""
        old, new = (side.node(_as_object(side.root), side.path) for side in (self.old, self.new))
        self.nodes(old, new, name)
        return self.found

    def nodes(self, old: Node, new: Node, name: str | None) -> None:
        """Compare two schemas that stand for the same thing; ``name`` is the parameter's."""
        pair = (old.path, new.path)
        if pair in self._met:
            return
        self._met.add(pair)
        self._open.append(pair)
        self.new.spend()
        compare_said(self, old, new, name)
        compare_branches(self, old, new)
        self._open.pop()

    def add(self, difference: Difference) -> None:
        """Keep a difference."""
        self.found.append(difference)

    def parts(
        self, old: Any, old_path: str, new: Any, new_path: str, name: str | None = None
    ) -> None:
        """Compare two schemas by where they stand; an absent one is ``True``, which accepts anything."""
        before = len(self.found)
        self.nodes(self.old.node(old, old_path), self.new.node(new, new_path), name)
        if len(self.found) > before and (_refers(old) or _refers(new)):
            last = self.found[-1]
            covers = (*last.covers, pointer(old_path, "$ref"), pointer(new_path, "$ref"))
            self.found[-1] = replace(last, covers=covers)

    def trial(self) -> Comparison:
        """A comparison of the same documents that keeps its findings to itself."""
        inner = Comparison(self.old, self.new, self.side)
        inner._met, inner._open = set(self._open), list(self._open)
        return inner

    @property
    def loses(self) -> bool:
        """Whether something accepted before may be refused now."""
        return any(one.direction in (NARROWS, UNKNOWN) for one in self.found)

    @property
    def gains(self) -> bool:
        """Whether something refused before may be accepted now."""
        return any(one.direction in (WIDENS, UNKNOWN) for one in self.found)


def _as_object(root: Any) -> Any:
    """A tool's schema as one of objects, which arguments and structured results always are."""
    if isinstance(root, dict) and not root.keys() & {
        "type",
        "$ref",
        "anyOf",
        "oneOf",
        "allOf",
        "enum",
        "const",
    }:
        return {**root, "type": "object"}
    return root


def _refers(raw: Any) -> bool:
    return isinstance(raw, dict) and "$ref" in raw


def compare(old: Any, new: Any, path: str, side: str, name: str) -> list[Difference]:
    """The differences between two schemas that stand at ``path`` in two versions of the tool ``name``."""
    if equal(old, new):
        return []
    comparison = Comparison(Document(old, path), Document(new, path), side)
    try:
        return comparison.run(name)
    except (TooComplex, RecursionError):
        text = "the schema's references multiply beyond what is followed, so what it accepts is not known"
        kind = "constraint_tightened" if side == INPUT else "output_changed"
        return [Difference(kind, path, old, new, UNKNOWN, text)]
