"""Facts about the contract of an MCP server, as policy sees them: no texts and values, which may be confidential."""

from __future__ import annotations

from pydantic import Field

from tipstaff.documents.base import Contract, Identifier


class ContractChange(Contract):
    """One change, without the texts and values themselves.

    ``direction`` says whether more or less may be sent (side ``input``) or received (``output``) than before. ``words``
    and ``stated`` are the words and the hints of what was added, ``classes`` the kinds of hidden characters.
    """

    kind: Identifier
    tool: str | None = None
    tools: list[str] = Field(default_factory=list)
    path: str
    side: str | None = None
    direction: str | None = None
    about: str | None = None
    verb: str | None = None
    hint: str | None = None
    now: bool | None = None
    words: list[str] = Field(default_factory=list)
    stated: dict[str, bool] = Field(default_factory=dict)
    classes: list[str] = Field(default_factory=list)
    place: str | None = None


class ContractVersion(Contract):
    """A version that a tool, or the server where ``tool`` is null, declares of its contract, before and after."""

    tool: str | None = None
    before: str
    after: str
    bump: str


class ContractEvidence(Contract):
    """What came of looking: ``compared``, ``unbaselined``, ``unreachable``, ``incomplete`` …; and the changes."""

    status: str | None = None
    changes: list[ContractChange] | None = None
    versions: list[ContractVersion] = Field(default_factory=list)
