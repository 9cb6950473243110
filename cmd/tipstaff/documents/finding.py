"""What a check found, in a policy or in the configuration, and the waivers that set findings aside for a time."""

from __future__ import annotations

from datetime import date
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, StringConstraints

from tipstaff.documents.base import Contract, Identifier, SchemaVersion


def _of_the_calendar(day: str) -> str:
    date.fromisoformat(day)
    return day


Severity = Literal["error", "warning", "note"]
Day = Annotated[
    str,
    StringConstraints(pattern=r"^\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])$"),
    AfterValidator(_of_the_calendar),
]
Text = Annotated[str, StringConstraints(min_length=1, max_length=1000, pattern=r"\S")]


class Waiver(Contract):
    """Who answers for findings of one code, why, and through which day (UTC).

    ``path`` is a glob of files, from the project's root, in which ``*`` stops at a slash; without one, every file.
    """

    # No wildcard can stand here: a waiver that covers everything would be a switch that turns the check off.
    code: Annotated[
        str, StringConstraints(pattern=r"^[a-z][a-z0-9_]*(\.[a-z][a-z0-9_]*)*(:[^*]{1,200})?$")
    ]
    path: Text | None = None
    owner: Text
    reason: Text
    expires: Day


class Waivers(Contract):
    """``waivers.yaml`` at the project's root."""

    schema_version: SchemaVersion
    waivers: list[Waiver] = Field(max_length=1000)


class Suppression(Contract):
    """The waiver by which a finding is set aside."""

    owner: str
    reason: str
    expires: Day


class Finding(Contract):
    """One thing that is wrong.

    ``file`` is relative to the project's root, ``line`` counts from 1; both are null where there is none. ``rule`` is
    the path of the rule or package that it is about, or of what found it. ``waiver`` is set on a waived finding only.
    """

    code: Identifier
    severity: Severity
    file: str | None
    line: int | None
    message: str
    solution: str
    rule: str
    waiver: Suppression | None = None
