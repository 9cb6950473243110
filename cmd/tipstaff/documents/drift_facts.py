"""What a change does to the pinned contracts of MCP servers, as policy sees it."""

from __future__ import annotations

from pydantic import Field

from tipstaff.documents.base import Contract, Identifier, Sha256
from tipstaff.documents.contract_facts import CanaryOutcome, ContractChange, ContractVersion


class PinFacts(Contract):
    """What a change does to one pinned contract, measured between the base commit and the patched tree.

    ``status`` is ``compared``, ``unbaselined`` where nothing was pinned, ``removed``, ``unreadable``, or ``foreign``
    where the file holds another server's contract. ``observed_digest`` is that of what the server was seen to
    advertise, null where nobody asked it; ``canaries`` is what came of its recorded calls then.
    """

    server: Identifier
    path: str
    status: str | None = None
    old_digest: Sha256 | None = None
    new_digest: Sha256 | None = None
    observed_digest: Sha256 | None = None
    changes: list[ContractChange] = Field(default_factory=list)
    versions: list[ContractVersion] = Field(default_factory=list)
    canaries: list[CanaryOutcome] = Field(default_factory=list)


class DriftFacts(Contract):
    """Every pinned contract that a change touches."""

    contracts: list[PinFacts]
