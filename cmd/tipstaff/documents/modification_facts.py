"""What the text of a proposed modification is seen to do, without running it."""

from __future__ import annotations

from typing import Literal

from tipstaff.documents.base import CapabilityName, Contract


class StaticFacts(Contract):
    """What one source text names, for rules to judge; nothing of it was run.

    ``language`` is ``python``, ``json``, ``yaml`` or ``rego`` by the suffix of the target, else null. ``syntax`` is
    ``unread`` where there is no reader for the language; ``error`` then, or where the text is faulty, says why.

    ``imports`` are absolute dotted modules; a relative import keeps its dots (``.sibling``). Where it cannot be told
    whether ``from package import name`` gives a module, ``package.name`` is listed beside ``package``.
    ``calls`` are the dotted names of all that is called, or referenced so that it can be called elsewhere, without
    parentheses (``pathlib.Path.unlink``); a builtin has its bare name (``eval``).
    ``unresolved`` are uses of what is only made at run time, each as ``line N: why``.
    """

    language: Literal["python", "json", "yaml", "rego"] | None
    syntax: Literal["ok", "error", "unread"]
    error: str | None
    imports: list[str]
    calls: list[str]
    unresolved: list[str]
    capabilities: list[CapabilityName]
