"""Any sequence of acts upon requests goes as a few lines of plain Python say it must."""

from __future__ import annotations

import shutil
import tempfile
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, invariant, rule

from support.ledger_parts import ALICE, BOB, SetClock, asked
from tipstaff.errors import ContractError
from tipstaff.ledger.approvals import Approvals, Material
from tipstaff.ledger.database import open_database


@dataclass
class _Asked:
    """What the model knows of a request."""

    status: str
    confirmations: int
    expires_at: datetime
    digest: str
    token: str | None = None
    token_ends: datetime | None = None
    is_told: bool = False


class ApprovalsMachine(RuleBasedStateMachine):
    """Acts upon the real ledger and the model alike."""

    keys = Bundle("keys")
    tokens = Bundle("tokens")

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.clock = SetClock()
        self.approvals = Approvals(open_database(self.folder), self.clock)
        self.model: dict[str, _Asked] = {}
        self.asked = 0

    def teardown(self) -> None:
        shutil.rmtree(self.folder)

    @rule(
        target=keys,
        digest=st.sampled_from("abc"),
        confirmations=st.integers(1, 2),
        ttl_s=st.sampled_from([60, 900]),
    )
    def ask(self, digest: str, confirmations: int, ttl_s: int) -> str:
        self._pass_time()
        self.asked += 1
        new = asked(
            digest * 64,
            decision_id=str(self.asked),
            confirmations=confirmations,
            ttl_s=ttl_s,
            confirm_within_s=30,
        )
        key = self.approvals.request(new, Material({})).key
        pending = [k for k, r in self.model.items() if (r.status, r.digest) == ("pending", digest)]
        if pending:
            assert [key] == pending
        else:
            assert key not in self.model
            ends = self.clock.now + timedelta(seconds=ttl_s)
            self.model[key] = _Asked("pending", confirmations, ends, digest)
        return key

    @rule(seconds=st.sampled_from([1, 29, 30, 59, 60, 900]))
    def wait(self, seconds: int) -> None:
        self.clock.advance(seconds=seconds)
        self._pass_time()

    @rule(target=tokens, key=keys)
    def confirm(self, key: str) -> str:
        known = self.model[key]
        expected = self._undecidable(known) or (
            "approval.single" if known.confirmations == 1 else None
        )
        token = self._act(lambda: self.approvals.confirm_first(key, BOB), expected)
        if token is None:
            return "none"
        known.token, known.token_ends = token, self.clock.now + timedelta(seconds=30)
        return str(token)

    @rule(key=keys, token=st.one_of(st.none(), st.just("wrong"), consumes(tokens)))
    def approve(self, key: str, token: str | None) -> None:
        known = self.model[key]
        expected = self._undecidable(known)
        if expected is None and known.confirmations == 2:
            in_time = known.token_ends is not None and self.clock.now < known.token_ends
            if token is None or token != known.token or not in_time:
                expected = "approval.token"
                if token is not None:
                    known.token = known.token_ends = None
        self._act(lambda: self.approvals.approve(key, BOB, token=token), expected)
        if expected is None:
            known.status = "approved"

    @rule(key=keys)
    def reject(self, key: str) -> None:
        known = self.model[key]
        expected = self._undecidable(known)
        self._act(lambda: self.approvals.reject(key, ALICE), expected)
        if expected is None:
            known.status = "rejected"

    @rule(key=keys)
    def consume(self, key: str) -> None:
        known = self.model[key]
        expected = {
            "approved": None,
            "consumed": "approval.consumed",
            "expired": "approval.expired",
        }.get(known.status, "approval.undecided")
        self._act(lambda: self.approvals.consume(key), expected)
        if expected is None:
            known.status = "consumed"

    @rule()
    def sweep(self) -> None:
        fresh = {k for k, r in self.model.items() if r.status == "expired" and not r.is_told}
        assert {request.key for request in self.approvals.sweep()} == fresh
        for key in fresh:
            self.model[key].is_told = True

    @invariant()
    def stands_as_the_model_says(self) -> None:
        shown = {request.key: request.status for request in self.approvals.list()}
        assert shown == {key: known.status for key, known in self.model.items()}
        assert sum(self.approvals.counts().values()) == len(self.model)

    def _pass_time(self) -> None:
        for known in self.model.values():
            if known.status == "pending" and self.clock.now >= known.expires_at:
                known.status = "expired"

    def _undecidable(self, known: _Asked) -> str | None:
        return {"pending": None, "expired": "approval.expired"}.get(
            known.status, "approval.decided"
        )

    def _act(self, act: object, expected: str | None) -> object:
        try:
            result = act()  # type: ignore[operator]
        except ContractError as error:
            assert error.code == expected
            return None
        assert expected is None
        return result


TestApprovals = ApprovalsMachine.TestCase
TestApprovals.settings = settings(
    max_examples=25,
    stateful_step_count=25,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
