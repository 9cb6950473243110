"""The cases of ``sandbox/probes/escape``, as data."""

from __future__ import annotations

import platform
from functools import cache
from pathlib import Path
from typing import Literal

from pydantic import Field

from tipstaff import declared
from tipstaff.documents import strict_yaml
from tipstaff.documents.base import Contract, SchemaVersion, parse
from tipstaff.documents.sandbox import RunLimits
from tipstaff.errors import ContractError
from tipstaff.sandbox import seccomp

Judged = Literal["listener", "inventory", "canary", "victim", "survivors", "limit", "report"]


class Entry(Contract):
    """One case as its file has it; ``suite.yaml`` says what the keys mean."""

    must: str
    why: str
    judged: Judged
    trap: str | None = None
    alone: bool = False
    limits: dict[str, int] = Field(default_factory=dict)
    own_kernel: bool = False


class Part(Contract):
    """One file of cases, by their names."""

    schema_version: SchemaVersion
    cases: dict[str, Entry]


class Suite(Contract):
    """What ``suite.yaml`` says."""

    schema_version: SchemaVersion
    parts: list[str]
    limits: RunLimits
    calls: dict[str, dict[str, int]]
    persistent: list[str]


class Case(Entry):
    """One case with its id, ``<part>.<program>``."""

    id: str


def folder() -> Path:
    """Where cases and programs lie."""
    return declared.folder("sandbox") / "probes/escape"


@cache
def suite() -> Suite:
    """What holds for all cases; raises ``ContractError`` naming file and field."""
    file = folder() / "suite.yaml"
    return parse(Suite, strict_yaml.load(file), file=str(file))


@cache
def cases() -> tuple[Case, ...]:
    """Every case in order; raises ``ContractError`` naming file and field."""
    found = []
    for name in suite().parts:
        file = folder() / f"{name}.yaml"
        part = parse(Part, strict_yaml.load(file), file=str(file))
        for case, entry in part.cases.items():
            found.append(parse(Case, {**entry.model_dump(), "id": f"{name}.{case}"}))
    return tuple(found)


def chosen(words: tuple[str, ...]) -> tuple[Case, ...]:
    """The cases that words name, by id or part; all of them without a word. Raises ``ContractError`` for an unknown."""
    for word in words:
        if not any(_named(case, word) for case in cases()):
            raise ContractError(
                "sandbox.case_unknown",
                f"no case or part is named {word!r}",
                field="--case",
                fix=f"name one of {', '.join(suite().parts)}, or a case such as {cases()[0].id}",
            )
    return tuple(case for case in cases() if not words or any(_named(case, w) for w in words))


def numbers() -> dict[str, int]:
    """System calls of this machine by name: those that the filter denies, and those that only programs make."""
    machine = platform.machine()
    return {**seccomp.denied(machine), **suite().calls.get(machine, {})}


def _named(case: Case, word: str) -> bool:
    return word in (case.id, case.id.partition(".")[0])
