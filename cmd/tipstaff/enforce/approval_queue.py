"""A person's decision on a request of an approval store: asked of policy, recorded, then one line.

Nothing is carried out by it. Whoever reads the store later judges again, with the policy of that moment.
"""

from __future__ import annotations

from dataclasses import dataclass

from tipstaff.documents.approval import ApprovalRequest
from tipstaff.documents.audit import Entry
from tipstaff.documents.base import Json
from tipstaff.documents.codes import CODES
from tipstaff.documents.input import control
from tipstaff.documents.text import visible
from tipstaff.documents.verdict import Verdict
from tipstaff.engine import Engine
from tipstaff.errors import ContractError, DecisionError
from tipstaff.ledger import refusal
from tipstaff.ledger.approval_store import ApprovalStore
from tipstaff.ledger.trail import NewRecord

# Digits at the end of a key, after the first twelve of its digest.
_LEFT_OUT = 52


@dataclass(frozen=True)
class Taken:
    """What came of a person's step. ``token`` is what a second confirmation must present."""

    verdict: Verdict
    request: ApprovalRequest
    token: str | None = None

    def public(self) -> Json:
        """What is shown of it as JSON."""
        verdict = self.verdict.model_dump(by_alias=True)
        return {"verdict": verdict, "request": self.request.public(), "token": self.token}


class ApprovalQueue:
    """Takes people's decisions on the requests of one store.

    Raises ``ContractError`` with nothing written to the store: as the store's methods do, and with the code of the
    verdict where policy does not let this actor decide. ``DecisionError`` where there is no verdict.
    """

    def __init__(self, engine: Engine, store: ApprovalStore) -> None:
        self._engine = engine
        self._store = store

    def approve(self, key: str, *, token: str | None, note: str | None) -> Taken:
        """Approve, or confirm for the first or second time where two confirmations are asked for."""
        verdict, request = self._may("approve", key)
        if request.confirmations > 1 and token is None:
            token = self._store.confirm_first(key, self._engine.actor)
            record_step(
                self._engine, "first-confirmation", request, {"within_s": request.confirm_within_s}
            )
            return Taken(verdict, request, token)
        request = self._store.approve(key, self._engine.actor, token=token, note=note)
        record_step(self._engine, "approved", request, {"note": visible(note or "")})
        return Taken(verdict, request)

    def reject(self, key: str, *, note: str | None) -> Taken:
        """Reject; one step always suffices."""
        verdict, request = self._may("reject", key)
        request = self._store.reject(key, self._engine.actor, note)
        record_step(self._engine, "rejected", request, {"note": visible(note or "")})
        return Taken(verdict, request)

    def _may(self, act: str, key: str) -> tuple[Verdict, ApprovalRequest]:
        request = self._store.get(key)
        if request is None:
            raise refusal.unknown(key)
        if request.status != "pending":
            raise refusal.undecidable(request)
        verdict = self._engine.decide(
            control(
                act,
                f"approval:{key}",
                subject=self._engine.actor.id,
                evidence={"requested_by": request.requested_by.model_dump()},
            )
        )
        if not verdict.is_allowed:
            reason = verdict.reasons[0]
            kind = DecisionError if reason.code in CODES else ContractError
            raise kind(reason.code, reason.message, fix=reason.solution)
        self._engine.redeem(verdict)
        return verdict, request


def record_step(engine: Engine, entry: Entry, request: ApprovalRequest, detail: Json) -> None:
    """Put on the trail what became of a request, under its key as far as a person needs it."""
    engine.trail.append(
        NewRecord(
            decision=entry,
            target=f"approval:{request.key[: len(request.key) - _LEFT_OUT]}",
            detail={"key": request.key, **detail},
            actor=engine.actor,
            decision_id=request.decision_id,
        )
    )


def record_expiry(engine: Engine, request: ApprovalRequest) -> None:
    """The same of a request whose time has come."""
    record_step(engine, "expired", request, {"expires_at": request.expires_at})
