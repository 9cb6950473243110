"""The pipeline: policy says which stage's facts are still to be found out, they are found out, and it is asked again.

There is no other way from one stage to the next. Nothing of the modification is applied; what a run leaves is a request
for approval where policy asks for one, the record on the trail, and the receipt.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

from tipstaff.documents.approval import ApprovalRequest
from tipstaff.documents.base import parse
from tipstaff.documents.governed import Receipt
from tipstaff.documents.modification import ModificationInput, StoredApproval
from tipstaff.documents.numbers import decimal
from tipstaff.documents.verdict import RequestApproval, Verdict
from tipstaff.enforce.approval_queue import record_expiry
from tipstaff.engine import Engine
from tipstaff.errors import ContractError, DecisionError
from tipstaff.evidence import static_gate
from tipstaff.harness.facts import Caller, Known, content_sha256, document
from tipstaff.harness.receipt import receipt
from tipstaff.harness.specification import Specification
from tipstaff.ledger.modifications import Modifications

if TYPE_CHECKING:
    from tipstaff.evidence.isolation import Isolation
    from tipstaff.ledger.approval_store import ApprovalStore

Say = Callable[[str], None]


@dataclass(frozen=True)
class Judged:
    """What came of it: the receipt, and whether policy answered at all."""

    receipt: Receipt
    is_answered: bool


@dataclass(frozen=True)
class Pipeline:
    """One specification on its way, and by whom; ``store`` is the operator's, which is then the only one."""

    engine: Engine
    specification: Specification
    caller: Caller = "cli"
    store: str | None = None
    say: Say = field(default=lambda line: None)

    def plan(self) -> Judged:
        """What reading alone shows: nothing is run, asked or written."""
        known = self._known("plan")
        asked = document(known, self.engine)
        verdict = self.engine.evaluate([asked])[0]
        return Judged(receipt(verdict, asked, known), verdict.is_answered)

    def run(self) -> Judged:
        """Every stage in order; the decision is on record.

        Raises ``SandboxError`` and ``EvidenceError`` where a stage cannot be carried out, and ``ContractError`` for a
        gate's reference that gives none.
        """
        known, is_passing = self._find_out(self._with_gate(self._known("run")))
        if is_passing:
            self._take()
        asked = document(known, self.engine)
        verdict = self.engine.decide(asked)
        known = self._ask(verdict, asked, known)
        return Judged(receipt(verdict, asked, known), verdict.is_answered)

    def _with_gate(self, known: Known) -> Known:
        """The settings of a gate that is only named."""
        if self.specification.gate_reference is None:
            return known
        from tipstaff.harness import reference

        self.say(f"asking {self.specification.gate_reference} for its settings, isolated")
        return replace(known, gate=reference.gate(self.specification, self._isolation()))

    def _known(self, act: Literal["plan", "run"]) -> Known:
        self._demand_own(Modifications(self.engine.project.state).source(*self._id()))
        modification = self.specification.spec.modification
        return Known(
            specification=self.specification,
            subject=self.engine.actor.id,
            caller=self.caller,
            act=act,
            pinned_store=self.store is not None,
            static=static_gate.examine(modification.source, modification.target),
        )

    def _find_out(self, known: Known) -> tuple[Known, bool]:
        """Gather what policy says it needs, until it needs nothing more; and whether it would be promoted then."""
        stages = dict(self._stages())
        while True:
            try:
                verdict = self.engine.evaluate([document(known, self.engine)])[0]
            except DecisionError:
                return known, False  # the same comes again as the recorded verdict, and defers
            find_out = stages.pop(verdict.facts.get("needs") or "", None)
            if find_out is None:
                return known, verdict.is_allowed
            known = find_out(known)

    def _take(self) -> None:
        """Let the id stand for this source before the promotion is on record; one killed in between may run again."""
        source = self.specification.source_sha256
        self._demand_own(Modifications(self.engine.project.state).keep(*self._id(), source))

    def _stages(self) -> Iterator[tuple[str, Callable[[Known], Known]]]:
        """How each stage's facts are found out; each is done once."""
        given = self.specification

        def prove(known: Known) -> Known:
            from tipstaff.harness import reference

            self.say(f"asking {given.spec.prover} for a proof, isolated")
            return replace(known, proof=reference.prove(given, self._isolation()))

        def look(known: Known) -> Known:
            return replace(known, approval=self._stored(known))

        def rehearse(known: Known) -> Known:
            from tipstaff.harness import rollback

            self.say("rehearsing the rollback, isolated")
            assert given.current is not None and given.previous is not None  # noqa: S101 (policy asks only then)
            rehearsal = rollback.rehearse(given.current, given.previous, self._isolation())
            return replace(known, rehearsal=rehearsal)

        yield "proof", prove
        yield "approval", look
        yield "rollback", rehearse

    def _isolation(self) -> Isolation:
        from tipstaff.evidence.isolation import configured

        return configured(self.engine.project)

    def _stored(self, known: Known) -> StoredApproval:
        """What the store holds for exactly this; what has run out of time meanwhile is on record, each once."""
        from tipstaff.ledger.approval_store import key_of

        self._store().sweep(lambda request: record_expiry(self.engine, request))
        key = key_of(content_sha256(known, self.engine), self.specification.spec.approval_key)
        request = self._store().get(key)
        return StoredApproval(key=key, status="none") if request is None else _stored(request)

    def _ask(self, verdict: Verdict, asked: ModificationInput, known: Known) -> Known:
        """Ask a person where the verdict says so; the request is in the approvals of the store."""
        terms = next((one for one in verdict.obligations if isinstance(one, RequestApproval)), None)
        if terms is None:
            return known
        from tipstaff.ledger.approval_store import NewRequest, key_of

        content, spec = str(asked.resource.content_sha256), self.specification.spec
        request = self._store().request(
            NewRequest(
                kind=verdict.kind,
                what=f"promote {spec.modification.modification_id} of {spec.artifact_id}, {spec.modification.target}",
                why=tuple(reason.message for reason in verdict.reasons),
                evidence=asked.evidence.model_dump(include={"static", "proof", "scores"}),
                risk=f"{decimal(verdict.facts['settings']['risk'])} of 1",
                alternatives=tuple(dict.fromkeys(reason.solution for reason in verdict.reasons)),
                urgency=terms.urgency,
                digest=content,
                decision_id=verdict.decision_id,
                bundle_revision=verdict.policy.revision,
                confirmations=terms.confirmations,
                confirm_within_s=terms.confirm_within_s,
                ttl_s=terms.ttl_s,
                requested_by=self.engine.actor,
                key=key_of(content, spec.approval_key),
            )
        )
        self.say(f"a person is asked: {request.key}")
        return replace(known, approval=_stored(request))

    def _store(self) -> ApprovalStore:
        from tipstaff.ledger.approval_store import open_store

        named = self.store or self.specification.spec.approval_store
        if named is None:  # our rules ask only where there is one; an overlay's may ask anyway
            raise ContractError(
                "harness.no_store",
                "policy asks a person, and nothing says where the answer is kept",
                field="approval_store",
                fix="name an approval_store; over MCP the operator sets TIPSTAFF_APPROVAL_STORE",
            )
        return open_store(named if "://" in named else self.specification.path(named))

    def _demand_own(self, kept: str | None) -> None:
        """Raise ``ContractError`` where the id stands for another source."""
        if kept not in (None, self.specification.source_sha256):
            raise ContractError(
                "modification.id_reused",
                "another source stands under this id",
                field="modification.modification_id",
                fix="give each modification an id of its own",
            )

    def _id(self) -> tuple[str, str]:
        spec = self.specification.spec
        return spec.artifact_id, spec.modification.modification_id


def _stored(request: ApprovalRequest) -> StoredApproval:
    return parse(StoredApproval, request.model_dump(include=set(StoredApproval.model_fields)))
