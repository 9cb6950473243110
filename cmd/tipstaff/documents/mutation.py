"""`mutation.toml` beside a policy: the wanted score, and why single mutants cannot be noticed."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from tipstaff.documents.base import Contract

Text = Annotated[str, Field(min_length=1)]


class Explained(Contract):
    """``id`` is a mutant's; ``what`` reminds the reader of it; ``why`` is the reason that no test can kill it."""

    id: Annotated[str, Field(pattern=r"^[0-9a-f]{12}$")]
    what: Text
    why: Text


class MutationFile(Contract):
    """``minimum`` is the lowest score that is enough, in percent."""

    minimum: Annotated[float, Field(ge=0, le=100)] | None = None
    explained: list[Explained] = Field(default_factory=list)
