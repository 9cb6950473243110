"""What a person wrote down about loosened verdicts: which, who answers for it, and why."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, StringConstraints

from tipstaff.documents.base import Contract, Identifier, SchemaVersion

FlipId = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{16}$")]


class Acknowledgement(Contract):
    """One loosened verdict by the id that `tipstaff policy diff` gives it."""

    id: FlipId
    owner: Identifier
    reason: Annotated[str, StringConstraints(min_length=1, max_length=2000)]


class Acknowledgements(Contract):
    """The file ``acknowledged.yaml`` of a policy folder."""

    schema_version: SchemaVersion
    loosened: list[Acknowledgement] = Field(default_factory=list)
