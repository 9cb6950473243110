"""The parts of a schema's normal form."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

from tipstaff.documents.pointer import pointer


class Said(NamedTuple):
    """A keyword that constrains nothing, such as a description: its value, and where it stands."""

    value: Any
    path: str


class Word(NamedTuple):
    """A keyword's value, and where it stands; ``paths`` where its members stand in different places."""

    value: Any
    path: str
    paths: dict[str, str] | None = None

    def path_of(self, name: str) -> str:
        """Where one member stands."""
        return (self.paths or {}).get(name) or pointer(self.path, name)


@dataclass
class Branch:
    """One way to be accepted: of one type (None for any, ``values`` for listed ones), under these keywords."""

    type: str | None
    words: dict[str, Word] = field(default_factory=dict)
    said: dict[str, list[Said]] = field(default_factory=dict)
    path: str = ""


@dataclass
class Node:
    """A schema in normal form; ``raw`` as it is written at ``path``. ``is_exclusive`` where exactly one may match."""

    raw: Any
    path: str
    branches: list[Branch]
    said: dict[str, list[Said]]
    is_exclusive: bool = False

    def spot(self, *words: str) -> str:
        """The pointer to the first of these keywords that is written here, else to the schema."""
        if isinstance(self.raw, dict):
            for word in words:
                if word in self.raw:
                    return pointer(self.path, word)
        return self.path
