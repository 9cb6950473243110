"""What a governed modification is held to, as its specification and the team write it; numbers are exact decimals."""

from __future__ import annotations

from pydantic import Field

from tipstaff.documents.base import CapabilityName, Contract
from tipstaff.documents.numbers import Amount, Share

MAX_TASKS = 5_000


class SpecGate(Contract):
    """What the gate is asked to hold it to. The team and the bundle may hold it to less, never to more."""

    granted_capabilities: list[CapabilityName] | None = None
    max_risk: Share | None = None
    canary_risk: Share | None = None
    tolerance: Amount | None = None
    allowed_imports: list[str] | None = None
    denied_imports: list[str] | None = None
    denied_calls: list[str] | None = None


class SpecRules(Contract):
    """What promotion takes."""

    min_effect: Amount | None = None
    min_tasks: int | None = Field(None, ge=1, le=MAX_TASKS)
    require_proof: bool | None = None
    require_approval: bool | None = None
    require_canary: bool | None = None
    require_conformal: bool | None = None
    require_sequential: bool | None = None
    require_rehearsal: bool | None = None
