"""A person's decision on a request: judged again by the policy of the moment, then carried out once.

An approval lifts ``require_approval`` and nothing else, for exactly the content it was asked for.
"""

from __future__ import annotations

from collections.abc import Callable

from tipstaff.documents.approval import ApprovalRequest
from tipstaff.documents.base import parse
from tipstaff.documents.input import ApprovalFacts, ChangeInput, control
from tipstaff.documents.text import visible
from tipstaff.documents.verdict import Verdict
from tipstaff.enforce.approval_queue import Taken, record_expiry, record_step
from tipstaff.enforce.enforcer import Enforcer, act_upon
from tipstaff.enforce.pull_request import rejection
from tipstaff.engine import Engine
from tipstaff.evidence.repository import Repository
from tipstaff.ledger import refusal
from tipstaff.project import timestamp


class Approver:
    """Takes people's decisions on requests of one project."""

    def __init__(
        self, engine: Engine, repository: Repository, *, say: Callable[[str], None]
    ) -> None:
        self._engine = engine
        self._enforcer = Enforcer(engine, repository, say=say)
        self.approvals = self._enforcer.approvals

    def approve(self, key: str, *, token: str | None, note: str | None) -> Taken:
        """Approve, or confirm for the first or second time where two confirmations are asked for.

        The change is judged again first, and a request that policy no longer lets a person approve stays as it is.
        Raises ``ContractError`` for a request that is unknown, decided or expired, and for a wrong token;
        ``ActionDenied`` (``enforce.moved``) where its branch no longer holds what was asked about.
        """
        self.expire()
        with self.approvals.hold(key) as held:
            request = held
            if request.status == "consumed":
                raise refusal.unusable(request)
            if request.status not in ("pending", "approved"):
                raise refusal.undecidable(request)
            refused = self._may("approve", request)
            if refused is not None:
                return Taken(refused, request)
            if request.status == "pending" and request.confirmations > 1 and token is None:
                return self._confirm_first(request)
            verdict = self._judge_again(request)
            if not verdict.is_allowed:
                return Taken(verdict, request)
            self._enforcer.demand_in_place(request)
            if request.status == "pending":
                request = self.approvals.approve(
                    request.key, self._engine.actor, token=token, note=note
                )
                record_step(self._engine, "approved", request, {"note": visible(note or "")})
            self._enforcer.finish(verdict, request)
            return Taken(verdict, self.approvals.consume(request.key))

    def reject(self, key: str, *, note: str | None) -> Taken:
        """Reject; one step always suffices. Finishes a rejection that was cut off. Raises as ``approve`` does."""
        self.expire()
        with self.approvals.hold(key) as held:
            request = held
            if request.status != "pending" and not self._was_cut_off(request):
                raise refusal.undecidable(request)
            verdict = self._control("reject", request)
            if not verdict.is_allowed:
                return Taken(verdict, request)
            if request.status == "pending":
                request = self.approvals.reject(request.key, self._engine.actor, note=note)
                record_step(self._engine, "rejected", request, {"note": visible(note or "")})
            by = self._engine.actor.id
            self._enforcer.withdraw(verdict, request, rejection(request.decision_id, by, note))
            return Taken(verdict, request)

    def expire(self) -> list[ApprovalRequest]:
        """Record each request whose time has come; nothing is ever carried out by it."""
        return self.approvals.sweep(lambda request: record_expiry(self._engine, request))

    def _was_cut_off(self, request: ApprovalRequest) -> bool:
        """Whether it is rejected and its pull request still open, as a killed process leaves it."""
        change = self._enforcer.changes.find(request.decision_id)
        return (
            request.status == "rejected"
            and change is not None
            and change.state == "awaiting-approval"
        )

    def _confirm_first(self, request: ApprovalRequest) -> Taken:
        verdict = self._control("approve", request)
        token = self.approvals.confirm_first(request.key, self._engine.actor)
        record_step(
            self._engine, "first-confirmation", request, {"within_s": request.confirm_within_s}
        )
        return Taken(verdict, request, token)

    def _may(self, act: str, request: ApprovalRequest) -> Verdict | None:
        """None where policy lets this actor do it; else the verdict that says no."""
        verdict = self._control(act, request)
        return None if verdict.is_allowed else verdict

    def _control(self, act: str, request: ApprovalRequest) -> Verdict:
        subject = self._engine.actor.id
        return self._engine.decide(control(act, act_upon(request), subject=subject))

    def _judge_again(self, request: ApprovalRequest) -> Verdict:
        document = parse(ChangeInput, self.approvals.material(request.key).document)
        decided = request.status == "approved"
        facts = ApprovalFacts(
            key=request.key,
            digest=request.digest,
            status="approved",
            requested_by=request.requested_by,
            decided_by=request.decided_by if decided and request.decided_by else self._engine.actor,
            decided_at=request.decided_at if decided and request.decided_at else timestamp(),
            expires_at=request.expires_at,
            confirmations=request.confirmations,
        )
        return self._engine.decide(document, approval=facts)
