"""Any sequence of acts upon requests goes as a few lines of plain Python say it must."""

from __future__ import annotations

from datetime import timedelta

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import invariant, rule

from support.approval_machine import Asked, StoreMachine
from support.ledger_parts import asked
from tipstaff.ledger.approval_store import ApprovalStore
from tipstaff.ledger.approvals import Approvals
from tipstaff.ledger.database import open_database


class ApprovalsMachine(StoreMachine):
    """The same with requests that have no name: of one content one is pending, and one asked anew is another."""

    def open(self) -> ApprovalStore:
        """The store that is tried."""
        return Approvals(open_database(self.folder), self.clock)

    @rule(
        target=StoreMachine.keys,
        digest=st.sampled_from("abc"),
        confirmations=st.integers(1, 2),
        ttl_s=st.sampled_from([60, 900]),
    )
    def ask(self, digest: str, confirmations: int, ttl_s: int) -> str:  # type: ignore[override]
        self.pass_time()
        self.times_asked += 1
        new = asked(
            digest * 64,
            decision_id=str(self.times_asked),
            confirmations=confirmations,
            ttl_s=ttl_s,
            confirm_within_s=30,
        )
        key = self.store.request(new).key
        pending = [k for k, r in self.model.items() if (r.status, r.digest) == ("pending", digest)]
        if pending:
            assert [key] == pending
        else:
            assert key not in self.model
            ends = self.clock.now + timedelta(seconds=ttl_s)
            self.model[key] = Asked("pending", confirmations, ends, digest)
        return key

    @invariant()
    def stands_as_the_model_says(self) -> None:
        shown = {request.key: request.status for request in self.store.list()}
        assert shown == {key: known.status for key, known in self.model.items()}
        assert sum(self.store.counts().values()) == len(self.model)


TestApprovals = ApprovalsMachine.TestCase
TestApprovals.settings = settings(
    max_examples=25,
    stateful_step_count=25,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
