"""A document as a person reads it: its runnable blocks and its files. The README, where none is named."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"
TUTORIAL = ROOT / "policy" / "TUTORIAL.md"
_BLOCK = re.compile(r"<!-- (run|file): (\S+) -->\n```\w+\n(.*?)```", re.DOTALL)
_EXITS = re.compile(r"# exits (\d)")


def block(name: str, document: Path = README) -> str:
    """The text of the block that is marked to be run under this name."""
    return _marked("run", document)[name]


def files(document: Path) -> dict[str, str]:
    """The files that the document shows, by their path."""
    return _marked("file", document)


def commands(name: str, document: Path = README) -> list[tuple[str, int]]:
    """The command lines of a block, each with the exit code that its comment announces (else 0)."""
    found = []
    for line in block(name, document).splitlines():
        exits = _EXITS.search(line)
        command = line.partition("  # ")[0].strip()
        if command and not command.startswith("#"):
            found.append((command, int(exits[1]) if exits else 0))
    return found


def _marked(kind: str, document: Path) -> dict[str, str]:
    text = document.read_text(encoding="utf-8")
    return {name: body for found, name, body in _BLOCK.findall(text) if found == kind}
