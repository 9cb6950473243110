"""Rego as OPA reads it: the syntax tree of a file, and OPA's words where there is none."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from tipstaff.documents.text import visible
from tipstaff.errors import ContractError
from tipstaff.pdp.opa import Opa

Node = dict[str, Any]
_OPENING = re.compile(
    r"\A(?:error: )?(?:load error: )?(?:bundle \S+: )?(?:\d+ errors? occurred(?: during loading)?:\s*)?"
)


def parse(opa: Opa, folder: Path, path: str, *, shown: str) -> Node:
    """The syntax tree of one file, with locations.

    Raises ``ContractError`` (``policy.invalid``) with OPA's words, naming the file as ``shown`` and the line.
    """
    arguments = ["parse", "--format", "json", "--json-include", "locations", path]
    answer = opa.run(arguments, cwd=folder)
    if answer.returncode != 0:
        raise _unparsed(answer.stderr or answer.stdout, shown)
    tree: Node = json.loads(answer.stdout)
    return tree


def place(module: Node) -> list[str]:
    """The path of a module's package without ``data``."""
    return [str(part["value"]) for part in module["package"]["path"][1:]]


def errors(said: bytes) -> list[Node]:
    """The errors in what OPA said as JSON; none where it said something else."""
    try:
        return list(json.loads(said)["errors"])
    except (ValueError, KeyError, TypeError):
        return []


def lines(said: bytes) -> str:
    """OPA's own words, each complaint (file, line, message) and what it shows of the source on lines of their own."""
    text = visible(_OPENING.sub("", said.decode(errors="replace")), multiline=True)
    return "\n".join(line.expandtabs(4).rstrip() for line in text.splitlines() if line.strip())


def invalid(file: Path | str, said: bytes) -> ContractError:
    """OPA's own words as an error."""
    return ContractError(
        "policy.invalid",
        lines(said),
        file=str(file),
        fix="correct the Rego at the named line",
    )


def _unparsed(said: bytes, shown: str) -> ContractError:
    for error in errors(said):
        place = f"{shown}:{error.get('location', {}).get('row', 1)}"
        return invalid(place, f"{error['code']}: {error['message']}".encode())
    return invalid(shown, said)
