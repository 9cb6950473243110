"""Carries out a verdict on a change: exactly its obligations, in their order, each recorded.

Nothing here reads a threshold or weighs a fact. What is done follows from the obligations, and an effect that
fails is undone as far as it can be and recorded as failed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tipstaff.documents.approval import ApprovalRequest, ChangeRecord
from tipstaff.documents.audit import Entry
from tipstaff.documents.base import Json
from tipstaff.documents.input import ChangeInput
from tipstaff.documents.verdict import OpenPullRequest, RequestApproval, Verdict
from tipstaff.enforce.change import branch_and_commit
from tipstaff.enforce.drift_section import Repair
from tipstaff.enforce.forge import choose
from tipstaff.enforce.pull_request import Proposal, commit_message, compose, superseded
from tipstaff.enforce.target import demand_in_place, demand_ruled, target_branch
from tipstaff.engine import Engine, Judgement
from tipstaff.errors import ActionDenied, Error
from tipstaff.evidence.repository import Repository
from tipstaff.ledger.approvals import Approvals, Material, NewRequest
from tipstaff.ledger.changes import Changes
from tipstaff.ledger.database import open_database
from tipstaff.ledger.holds import hold
from tipstaff.ledger.new_request import request_key
from tipstaff.ledger.trail import NewRecord
from tipstaff.project import timestamp

if TYPE_CHECKING:
    from tipstaff.evidence.diff import Patch


@dataclass(frozen=True)
class Proposed:
    """What a verdict on a change is carried out with: the judged document, the diff, the patched tree.

    ``repair`` is told in the pull request.
    """

    document: ChangeInput
    diff: bytes
    patch: Patch
    repair: Repair | None = None


@dataclass(frozen=True)
class Effects:
    """What was carried out; all None where nothing was."""

    branch: str | None = None
    commit: str | None = None
    pull_request: str | None = None
    approval: ApprovalRequest | None = None


class Enforcer:
    """Carries out verdicts of one engine in one repository."""

    def __init__(
        self, engine: Engine, repository: Repository, *, say: Callable[[str], None]
    ) -> None:
        demand_ruled(repository, engine.project.root)
        self._engine = engine
        self._repository = repository
        self._say = say
        self._forge = choose(repository, engine.project.state)
        database = open_database(engine.project.state)
        self.approvals: Approvals = Approvals(database)
        self.changes: Changes = Changes(database)

    def carry_out(self, verdict: Verdict, material: Proposed) -> Effects:
        """Do what the verdict's obligations say; a verdict that refuses leaves only the record of the change.

        Raises ``ActionDenied`` for a verdict that this engine did not give, or gave on something else. Raises the
        error of an effect that failed, with the branch taken back.
        """
        if not isinstance(verdict, Verdict):
            raise _unjudged("there is no verdict")
        asked = verdict.obligations
        pull_request = next((one for one in asked if isinstance(one, OpenPullRequest)), None)
        request = next((one for one in asked if isinstance(one, RequestApproval)), None)
        if pull_request is None and request is None:
            self.changes.record(_change(verdict, material, "judged"))
            return Effects()
        judgement = self._engine.redeem(verdict)
        _demand_judged(judgement, material)
        with hold(self._engine.project.state, material.patch.diff_sha256):
            return self._carry_out(judgement, material, pull_request, request)

    def demand_in_place(self, request: ApprovalRequest) -> None:
        """Raise ``ActionDenied`` (``enforce.moved``) unless what was proposed is what approving would make ready."""
        change = self.changes.find(request.decision_id)
        if change is not None:
            demand_in_place(self._repository, change)

    def finish(self, verdict: Verdict, request: ApprovalRequest) -> None:
        """Carry out an approved change: its draft becomes ready. Safe to do again after a crash in between.

        Raises ``ActionDenied`` for a verdict that this engine did not give on exactly what was approved.
        """
        judgement = self._engine.redeem(verdict)
        if judgement.question.judged_sha256 != request.digest:
            raise _unjudged("the verdict is on another change than the request")
        change = self.changes.find(request.decision_id)
        if change is not None:
            demand_in_place(self._repository, change)
            if change.pull_request:
                self._forge.mark_ready(change.pull_request, commit=change.commit)
            self.changes.ready(change.id)
        self._note("carried-out", request.decision_id, request.what, {"approval": request.key})

    def withdraw(self, verdict: Verdict, request: ApprovalRequest, comment: str) -> None:
        """Close the pull request of a rejected change; its branch stays, so nothing is lost.

        Raises ``ActionDenied`` for a verdict that this engine did not give on rejecting exactly this request.
        """
        judgement = self._engine.redeem(verdict)
        judged = judgement.question.document
        if (judged["action"], judged["resource"]) != (
            {"type": "reject"},
            {"id": act_upon(request)},
        ):
            raise _unjudged("the verdict is on another request")
        change = self.changes.find(request.decision_id)
        if change is not None:
            if change.pull_request:
                self._forge.close(change.pull_request, comment)
            self.changes.rejected(change.id)

    def _carry_out(
        self,
        judgement: Judgement,
        material: Proposed,
        pull_request: OpenPullRequest | None,
        request: RequestApproval | None,
    ) -> Effects:
        waiting = self._waiting(judgement) if request else None
        if waiting is not None:
            return self._join(waiting)
        self._take_back(material)
        self.changes.record(_change(judgement.verdict, material, "proposing"))
        effects = Effects()
        if pull_request:
            effects = self._propose(judgement, material, _key(judgement) if request else None)
        if request:
            return self._ask(judgement, material, request, effects)
        self.changes.proposed(judgement.verdict.decision_id)
        return effects

    def _take_back(self, material: Proposed) -> None:
        """Undo what a run that was killed left of this very change; the hold keeps out one that still goes on."""
        for change in self.changes.unfinished(material.patch.diff_sha256):
            if change.pull_request:
                self._forge.close(change.pull_request, superseded(change.id))
            elif change.branch and change.commit:
                self._repository.delete_branch(change.branch, change.commit)
            self.changes.failed(change.id)
            self._note("failed", change.id, f"change:{change.id}", {"error": "it was cut off"})

    def _propose(self, judgement: Judgement, material: Proposed, key: str | None) -> Effects:
        verdict, change = judgement.verdict, material.document
        branch, commit = branch_and_commit(
            self._repository,
            material.patch,
            action_class=change.action.class_,
            message=commit_message(change, verdict.decision_id),
        )
        self.changes.committed(verdict.decision_id, branch=branch, commit=commit)
        try:
            proposal = Proposal(
                verdict=verdict,
                change=change,
                branch=branch,
                base_branch=target_branch(self._repository),
                commit=commit,
                trail_head=self._engine.trail_head,
                approval_key=key,
                repair=material.repair,
            )
            reference = self._forge.open(compose(proposal))
        except Error as error:
            self._repository.delete_branch(branch, commit)
            self.changes.failed(verdict.decision_id)
            self._note("failed", verdict.decision_id, branch, {"error": error.diagnostics()})
            raise
        detail = {"branch": branch, "commit": commit, "pull_request": reference}
        self._note("proposed", verdict.decision_id, branch, detail, change.action.class_)
        self.changes.opened(verdict.decision_id, pull_request=reference)
        return Effects(branch, commit, reference)

    def _ask(
        self, judgement: Judgement, material: Proposed, terms: RequestApproval, done: Effects
    ) -> Effects:
        verdict, change = judgement.verdict, material.document
        request = self.approvals.request(
            NewRequest(
                kind=verdict.kind,
                what=_what(change),
                why=tuple(reason.message for reason in verdict.reasons),
                evidence=change.evidence.model_dump(by_alias=True),
                risk="low" if verdict.facts.get("low_risk") else "not shown to be low",
                alternatives=tuple(dict.fromkeys(reason.solution for reason in verdict.reasons)),
                urgency=terms.urgency,
                digest=judgement.question.judged_sha256,
                decision_id=verdict.decision_id,
                bundle_revision=verdict.policy.revision,
                confirmations=terms.confirmations,
                confirm_within_s=terms.confirm_within_s,
                ttl_s=terms.ttl_s,
                requested_by=self._engine.actor,
            ),
            Material(change.model_dump(by_alias=True, exclude={"context"}), material.diff),
        )
        detail = {"key": request.key, "expires_at": request.expires_at}
        self._note(
            "awaiting-approval",
            verdict.decision_id,
            f"approval:{request.key[:12]}",
            detail,
            change.action.class_,
        )
        self.changes.awaiting_approval(verdict.decision_id, approval=request.key)
        return Effects(done.branch, done.commit, done.pull_request, request)

    def _waiting(self, judgement: Judgement) -> ApprovalRequest | None:
        """A pending request for exactly what was judged, so that asking twice makes one request."""
        digest = judgement.question.judged_sha256
        pending = self.approvals.list("pending")
        return next((request for request in pending if request.digest == digest), None)

    def _join(self, request: ApprovalRequest) -> Effects:
        change = self.changes.find(request.decision_id)
        self._say(f"already proposed; the request {request.key[:12]} is waiting")
        if change is None:
            return Effects(approval=request)
        if change.approval is None:
            # The run that asked was killed just before it noted the request; unlinked, the draft would be taken back.
            self.changes.awaiting_approval(change.id, approval=request.key)
        return Effects(change.branch, change.commit, change.pull_request, request)

    def _note(
        self,
        entry: Entry,
        decision_id: str,
        target: str,
        detail: Json,
        action_class: str | None = None,
    ) -> None:
        self._engine.trail.append(
            NewRecord(
                decision=entry,
                target=target,
                detail=detail,
                actor=self._engine.actor,
                action_class=action_class,
                decision_id=decision_id,
            )
        )


def act_upon(request: ApprovalRequest) -> str:
    """The name by which a control document means a request."""
    return f"approval:{request.key}"


def _demand_judged(judgement: Judgement, material: Proposed) -> None:
    """Refuse to carry out anything but what the verdict was given on."""
    judged, patch = judgement.question.document, material.patch
    document = material.document.model_dump(by_alias=True, exclude={"context"})
    digest = hashlib.sha256(material.diff).hexdigest()
    is_same = document == {key: judged[key] for key in document}
    resource = judged["resource"]
    if not is_same or (patch.base, patch.diff_sha256, digest) != (
        resource["base"],
        resource["diff_sha256"],
        resource["diff_sha256"],
    ):
        raise _unjudged("the verdict is on another change")


def _unjudged(message: str) -> ActionDenied:
    return ActionDenied("enforce.unjudged", message, fix="have this very change judged")


def _key(judgement: Judgement) -> str:
    return request_key(judgement.question.judged_sha256, judgement.verdict.decision_id)


def _what(change: ChangeInput) -> str:
    files = change.resource.files
    names = ", ".join(file.path for file in files[:3])
    more = f" and {len(files) - 3} more" if len(files) > 3 else ""
    return f"{change.action.class_}: {names}{more}" if files else f"{change.action.class_}"


def _change(verdict: Verdict, material: Proposed, state: str) -> ChangeRecord:
    change = material.document
    return ChangeRecord.model_validate(
        {
            "id": verdict.decision_id,
            "action_class": change.action.class_ or "",
            "effect": verdict.effect,
            "base": change.resource.base,
            "diff_sha256": change.resource.diff_sha256,
            "files": [file.path for file in change.resource.files],
            "state": state,
            "created_at": timestamp(),
        }
    )
