"""Every way in which one fact of a document can be broken, applied to every fact."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from random import Random
from typing import Any

Path = tuple[str | int, ...]
ABSENT = object()
# The standard writer cannot write a number beyond a double, so a mark stands for it in the text.
_HUGE = "\ue000huge\ue000"


@dataclass(frozen=True)
class Mutant:
    """A document in which the fact at ``path`` was broken in the way ``how``."""

    base: str
    path: Path
    how: str
    document: Any

    @property
    def place(self) -> str:
        """The path with list positions left out: ``resource.files.*.path``."""
        return ".".join("*" if isinstance(part, int) else part for part in self.path)


def dump(documents: list[Any]) -> str:
    """The documents as one input of a batch, huge numbers included."""
    return json.dumps({"documents": documents}).replace(json.dumps(_HUGE), "1e309")


def mutants(name: str, document: Any, *, below: Path = ()) -> Iterator[Mutant]:
    """Each fact of the document, or of what is below or above one path of it, broken in each way."""
    for path, value in _facts(document):
        if path[: len(below)] != below[: len(path)]:
            continue
        for how, broken in _broken(value):
            yield Mutant(name, path, how, _replaced(document, path, broken))


def some_mutants(name: str, document: Any, count: int, dice: Random) -> list[Mutant]:
    """As many mutants, each another one, chosen by the dice."""
    ways = [
        (path, how, broken) for path, value in _facts(document) for how, broken in _broken(value)
    ]
    return [
        Mutant(name, path, how, _replaced(document, path, broken))
        for path, how, broken in dice.sample(ways, min(count, len(ways)))
    ]


def _facts(value: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    if path:
        yield path, value
    items: Any = ()
    if isinstance(value, dict):
        items = value.items()
    elif isinstance(value, list):
        items = enumerate(value)
    for key, item in items:
        yield from _facts(item, (*path, key))


_FIXED: dict[str, Any] = {
    "absent": ABSENT,
    "null": None,
    "true": True,
    "false": False,
    "empty text": "",
    "zero as text": "0",
    "empty list": [],
    "empty object": {},
    "list of null": [None],
    "negative": -1,
    "fraction": 0.5,
    "huge number": _HUGE,
}
_DERIVED: dict[str, Callable[[Any], Any]] = {
    "in a list": lambda value: [value],
    "in an object": lambda value: {"0": value},
    "as text": json.dumps,
}
_TEXT: dict[str, Callable[[str], str]] = {
    "other case": str.swapcase,
    "zero-width space added": lambda text: text + "\u200b",
    "space added": lambda text: text + " ",
    "line end added": lambda text: text + "\n",
}


def _broken(value: Any) -> Iterator[tuple[str, Any]]:
    for how, broken in _FIXED.items():
        if json.dumps(broken, default=id) != json.dumps(value):
            yield how, broken
    for how, change in _DERIVED.items():
        yield how, change(value)
    if isinstance(value, str):
        for how, edit in _TEXT.items():
            if edit(value) != value:
                yield how, edit(value)
    elif isinstance(value, int) and not isinstance(value, bool):
        yield "as a float", float(value)
    elif isinstance(value, list):
        yield "as an object", {str(place): item for place, item in enumerate(value)}
        yield "with a null more", [*value, None]
    elif isinstance(value, dict):
        yield "as a list", list(value.values())


def _replaced(document: Any, path: Path, value: Any) -> Any:
    new = copy.deepcopy(document)
    *folders, name = path
    place = new
    for folder in folders:
        place = place[folder]
    if value is ABSENT:
        del place[name]
    else:
        place[name] = value
    return new
