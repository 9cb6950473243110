"""Rules of an overlay that would refuse something but that nobody reads, found before a bundle is signed.

A verdict reads ``deny``, ``escalate``, ``require_approval`` and ``obligations`` of packages ``org.<name>``. A rule of
such a name in another place, or one that takes arguments, has no say, however much its author relies on it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from tipstaff import declared
from tipstaff.errors import ContractError
from tipstaff.pdp.opa import Opa
from tipstaff.pdp.syntax import Node, parse, place

_WORDS = declared.folder("policy") / "tipstaff" / "conventions" / "data.json"
_DEPTH = 2


def demand_read(opa: Opa, folder: Path, files: list[str]) -> None:
    """Raise ``ContractError`` (``policy.invalid``) for the first rule that looks like one that is read, and is not."""
    read = frozenset(json.loads(_WORDS.read_bytes())["read"])
    for file in files:
        for path in _unread(parse(opa, folder, file, shown=file), read):
            raise ContractError(
                "policy.invalid",
                f"{'.'.join(path)} is read by nobody, so it would refuse nothing",
                file=file,
                fix="give sets `deny`, `escalate`, `require_approval` or `obligations` in a package org.<name>",
            )


def _unread(module: Node, read: frozenset[str]) -> Iterator[list[str]]:
    package = place(module)
    for rule in module.get("rules", []):
        head = rule["head"]
        first, *more = head["ref"]
        names = [str(part["value"]) for part in more if part["type"] == "string"]
        path = [*package, str(first["value"]), *names]
        spoken = [depth for depth, name in enumerate(path) if name in read]
        if spoken and (spoken[0] != _DEPTH or head.get("args")):
            yield path
