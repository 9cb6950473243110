"""One difference between two contracts, and the facts about it that a rule may rest on."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from tipstaff.documents.base import Json

INPUT, OUTPUT, ABOUT = "input", "output", "about"
NARROWS, WIDENS, UNKNOWN, NONE = "narrows", "widens", "unknown", "none"


@dataclass(frozen=True)
class Change:
    """What is different, and where.

    ``path`` is a JSON pointer into the tool as MCP spells it, or into the server's own members where ``tool`` is None.
    ``facts`` are what policy grades: ``side`` (input, output or about), ``direction`` (narrows, widens, unknown or
    none, of what may be sent or received there), ``about``, and what else the kind has. ``covers`` are further pointers
    at which the same difference shows; ``tools`` names the tools of a change that all of them share.
    """

    kind: str
    tool: str | None
    path: str
    before: Any
    after: Any
    message: str
    facts: Json = field(default_factory=dict)
    covers: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()

    def as_fact(self) -> Json:
        """The change as policy sees it: without the texts and values, which may be confidential."""
        return {"kind": self.kind, "tool": self.tool, "path": self.path, **self.facts}
