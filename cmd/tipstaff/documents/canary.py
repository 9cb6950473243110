"""Canaries: calls of an MCP server's tools that are recorded in its snapshot, with the digest of what they answered."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, Field, StringConstraints

from tipstaff.documents.base import Contract, Identifier, Json, Sha256

# RFC 6901; the empty one would mask the whole answer.
Pointer = Annotated[str, StringConstraints(pattern=r"^(/([^/~]|~[01])*)+$", max_length=1024)]


class Canary(Contract):
    """One recorded call.

    ``masks`` are JSON pointers to what may differ between two answers, ``fingerprint`` is the SHA-256 of the canonical
    answer without them. ``runs`` is how often it was called when it was recorded, ``stable`` whether all answers were
    then the same, ``granted`` whether a person granted a call that policy lets nobody make otherwise.
    """

    id: Identifier
    tool: Identifier
    arguments: Json = Field(default_factory=dict)
    masks: list[Pointer] = Field(default_factory=list)
    fingerprint: Sha256
    runs: int = Field(ge=1)
    stable: bool = True
    granted: bool = False


def _sorted(canaries: list[Canary]) -> list[Canary]:
    found = {canary.id: canary for canary in canaries}
    if len(found) != len(canaries):
        raise ValueError("two canaries have one id")
    return [found[name] for name in sorted(found)]


Canaries = Annotated[list[Canary], AfterValidator(_sorted)]
