"""A Rego file as OPA reads it: its text, its syntax tree, and where in the text each part of the tree stands."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from tipstaff.pdp.opa import Opa
from tipstaff.pdp.syntax import Node, parse

_TEST = ("test_", "todo_test_")


@dataclass(frozen=True)
class Span:
    """A piece of a text: ``start`` and ``end`` as for slices, and what stands there."""

    start: int
    end: int
    text: str


@dataclass(frozen=True)
class Module:
    """One file: its path below its tree, its text and its tree."""

    path: str
    text: str
    tree: Node

    @cached_property
    def package(self) -> tuple[str, ...]:
        """The package's path without ``data``."""
        return tuple(str(part["value"]) for part in self.tree["package"]["path"][1:])

    @property
    def rules(self) -> list[Node]:
        """The rules, as they stand one after the other."""
        return list(self.tree.get("rules", []))

    @cached_property
    def tests(self) -> tuple[str, ...]:
        """The names of the tests in it, each once."""
        names = [name(rule) for rule in self.rules]
        return tuple(dict.fromkeys(each for each in names if each.startswith("test_")))

    @property
    def is_for_tests(self) -> bool:
        """Whether it is a test file by its name, as OPA's own tools count them."""
        return self.path.endswith("_test.rego")

    @cached_property
    def references(self) -> frozenset[tuple[str, ...]]:
        """What it refers to below ``data``, each up to the first part that is not fixed."""
        found = (_fixed(node) for node in nodes(self.tree) if node.get("type") == "ref")
        return frozenset(path for path in found if path is not None)

    def span(self, node: Node) -> Span | None:
        """Where a part of the tree stands; None for one that the text does not hold."""
        place = node.get("location")
        if not place or not place.get("text"):
            return None
        text = base64.b64decode(place["text"]).decode()
        start = self._lines[place["row"] - 1] + place["col"] - 1
        if not self.text.startswith(text, start):
            return None
        return Span(start, start + len(text), text)

    def line_and_column(self, offset: int) -> tuple[int, int]:
        """Both count from one."""
        before = self.text[:offset]
        return before.count("\n") + 1, offset - (before.rfind("\n") + 1) + 1

    @cached_property
    def _lines(self) -> list[int]:
        starts = [0]
        for line in self.text.splitlines(keepends=True):
            starts.append(starts[-1] + len(line))
        return starts


def read(opa: Opa, folder: Path, path: str) -> Module:
    """Parse one file of a tree; raises as ``parse`` does."""
    tree = parse(opa, folder, path, shown=str(folder / path))
    return Module(path, (folder / path).read_text(encoding="utf-8"), tree)


def name(rule: Node) -> str:
    """A rule's name as it is written: ``deny``, ``_said.deny``."""
    return ".".join(str(part["value"]) for part in rule["head"]["ref"])


def is_test(rule: Node) -> bool:
    """Whether a rule is a test, or one that is yet to be written."""
    return name(rule).startswith(_TEST)


def nodes(value: Any) -> Iterator[Node]:
    """Each object in a tree, outermost first."""
    if isinstance(value, dict):
        yield value
    for item in value.values() if isinstance(value, dict) else value:
        if isinstance(item, dict | list):
            yield from nodes(item)


def _fixed(ref: Node) -> tuple[str, ...] | None:
    first, *rest = ref["value"]
    if first.get("value") != "data":
        return None
    path: list[str] = []
    for part in rest:
        if part["type"] != "string":
            break
        path.append(part["value"])
    return tuple(path)
