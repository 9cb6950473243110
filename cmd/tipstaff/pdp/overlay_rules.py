"""Rules of an overlay that would refuse something but that nobody reads, found before a bundle is signed.

A verdict reads ``deny``, ``escalate``, ``require_approval`` and ``obligations`` of packages ``org.<name>``. A rule of
such a name in another place, or one that takes arguments, has no say, however much its author relies on it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tipstaff.errors import ContractError
from tipstaff.pdp.opa import Opa

_READ = frozenset({"deny", "escalate", "require_approval", "obligations"})
_DEPTH = 2


def demand_read(opa: Opa, folder: Path, files: list[str]) -> None:
    """Raise ``ContractError`` (``policy.invalid``) for the first rule that looks like one that is read, and is not."""
    for file in files:
        answer = opa.run(["parse", "--format", "json", file], cwd=folder)
        if answer.returncode != 0:
            continue  # what does not parse has not been built either
        for place in _unread(json.loads(answer.stdout)):
            raise ContractError(
                "policy.invalid",
                f"{'.'.join(place)} is read by nobody, so it would refuse nothing",
                file=file,
                fix="give sets `deny`, `escalate`, `require_approval` or `obligations` in a package org.<name>",
            )


def _unread(module: dict[str, Any]) -> Iterator[list[str]]:
    package = [str(part["value"]) for part in module["package"]["path"][1:]]
    for rule in module.get("rules", []):
        head = rule["head"]
        first, *more = head["ref"]
        names = [str(part["value"]) for part in more if part["type"] == "string"]
        place = [*package, str(first["value"]), *names]
        spoken = [depth for depth, name in enumerate(place) if name in _READ]
        if spoken and (spoken[0] != _DEPTH or head.get("args")):
            yield place
