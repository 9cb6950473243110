"""Facts about the contract of an MCP server, as policy sees them: no texts and values, which may be confidential."""

from __future__ import annotations

from pydantic import Field

from tipstaff.documents.base import Contract, Identifier, Sha256


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


class CanaryOutcome(Contract):
    """What came of one canary.

    ``same``, ``changed``, ``unstable``; ``redefined`` where its tool is another one now; ``refused``, ``forbidden``,
    ``not_run`` where it was not called.
    """

    id: Identifier
    outcome: Identifier


class CanaryCall(Contract):
    """A call that is to be recorded or repeated, and how its answers compare.

    ``words`` and ``stated`` are the words and the hints of its tool, ``granted`` whether a person grants the call
    whatever these are. ``runs`` and ``distinct`` count answers and different ones; null before the first call.
    """

    id: Identifier
    tool: Identifier
    words: list[str] = Field(default_factory=list)
    stated: dict[str, bool] = Field(default_factory=dict)
    granted: bool = False
    runs: int | None = Field(None, ge=0)
    distinct: int | None = Field(None, ge=0)


class CandidateFacts(Contract):
    """The kept bytes that are to be accepted: their own digest and server, and who had them observed first."""

    digest: Sha256
    server: Identifier
    seen_by: Identifier | None = None


class ContractEvidence(Contract):
    """What came of looking, and the changes.

    ``status`` is ``compared``, ``unbaselined``, ``unreadable``, ``foreign``, ``unconfigured``, ``unreachable``,
    ``incomplete``, ``unsteady`` or ``error_response``. ``canaries`` are the outcomes of recorded calls; ``canary`` is
    the call, ``candidate`` the snapshot that is asked about, null where there is none.
    """

    status: str | None = None
    changes: list[ContractChange] | None = None
    versions: list[ContractVersion] = Field(default_factory=list)
    canaries: list[CanaryOutcome] = Field(default_factory=list)
    canary: CanaryCall | None = None
    candidate: CandidateFacts | None = None
