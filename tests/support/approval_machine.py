"""A few lines of plain Python that say how any sequence of acts upon an approval store must go."""

from __future__ import annotations

import shutil
import tempfile
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    consumes,
    invariant,
    multiple,
    rule,
)

from support.ledger_parts import ALICE, BOB, SetClock, asked
from tipstaff.errors import ContractError
from tipstaff.ledger.approval_file import ApprovalFile
from tipstaff.ledger.approval_store import ApprovalStore, key_of


@dataclass
class Asked:
    """What the model knows of a request."""

    status: str
    confirmations: int
    expires_at: datetime
    digest: str = ""
    token: str | None = None
    token_ends: datetime | None = None
    is_told: bool = False


class StoreMachine(RuleBasedStateMachine):
    """Acts upon a real store and the model alike."""

    keys = Bundle("keys")
    tokens = Bundle("tokens")

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.clock = SetClock()
        self.store = self.open()
        self.model: dict[str, Asked] = {}
        self.times_asked = 0

    def open(self) -> ApprovalStore:
        """The store that is tried."""
        return ApprovalFile(self.folder / "approvals.jsonl", self.clock)

    def teardown(self) -> None:
        shutil.rmtree(self.folder)

    @rule(
        target=keys,
        digest=st.sampled_from("ab"),
        prefix=st.sampled_from(["", "p"]),
        confirmations=st.integers(1, 2),
        ttl_s=st.sampled_from([60, 900]),
    )
    def ask(self, digest: str, prefix: str, confirmations: int, ttl_s: int) -> str:
        self.pass_time()
        self.sweep()
        self.times_asked += 1
        key = key_of(digest * 64, prefix)
        request = self.store.request(
            asked(
                digest * 64,
                key=key,
                decision_id=str(self.times_asked),
                confirmations=confirmations,
                ttl_s=ttl_s,
                confirm_within_s=30,
            )
        )
        assert request.key == key
        known = self.model.get(key)
        now = self.clock.now
        stands = known is not None and (
            known.status in ("pending", "rejected")
            or (known.status == "approved" and now < known.expires_at)
        )
        if not stands:
            known = Asked("pending", confirmations, now + timedelta(seconds=ttl_s))
            self.model[key] = known
        assert known is not None
        assert request.status == known.status
        return key

    @rule(seconds=st.sampled_from([1, 29, 30, 59, 60, 900]))
    def wait(self, seconds: int) -> None:
        self.clock.advance(seconds=seconds)
        self.pass_time()

    @rule(target=tokens, key=keys)
    def confirm(self, key: str) -> object:
        known = self.model[key]
        expected = self._undecidable(known) or (
            "approval.single" if known.confirmations == 1 else None
        )
        token = self._act(lambda: self.store.confirm_first(key, BOB), expected)
        if token is None:
            return multiple()
        known.token, known.token_ends = str(token), self.clock.now + timedelta(seconds=30)
        return token

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
        self._act(lambda: self.store.approve(key, BOB, token=token), expected)
        if expected is None:
            known.status = "approved"

    @rule(key=keys)
    def reject(self, key: str) -> None:
        known = self.model[key]
        expected = self._undecidable(known)
        self._act(lambda: self.store.reject(key, ALICE), expected)
        if expected is None:
            known.status = "rejected"

    @rule(key=keys)
    def consume(self, key: str) -> None:
        known = self.model[key]
        refused = {"consumed": "approval.consumed", "expired": "approval.expired", "approved": None}
        expected = refused.get(known.status, "approval.undecided")
        self._act(lambda: self.store.consume(key), expected)
        if expected is None:
            known.status = "consumed"

    @rule()
    def sweep(self) -> None:
        fresh = {k for k, r in self.model.items() if r.status == "expired" and not r.is_told}
        assert {request.key for request in self.store.sweep()} == fresh
        for key in fresh:
            self.model[key].is_told = True

    @rule()
    def open_again(self) -> None:
        self.store = self.open()

    @invariant()
    def stands_as_the_model_says(self) -> None:
        shown = {request.key: request.status for request in self.store.list()}
        assert shown == {key: known.status for key, known in self.model.items()}
        for key, known in self.model.items():
            request = self.store.get(key)
            assert request is not None
            assert request.status == known.status
        assert self.store.get("c" * 64) is None

    def pass_time(self) -> None:
        for known in self.model.values():
            if known.status == "pending" and self.clock.now >= known.expires_at:
                known.status = "expired"

    def _undecidable(self, known: Asked) -> str | None:
        refused = {"pending": None, "expired": "approval.expired"}
        return refused.get(known.status, "approval.decided")

    def _act(self, act: object, expected: str | None) -> object:
        try:
            result = act()  # type: ignore[operator]
        except ContractError as error:
            assert error.code == expected
            return None
        assert expected is None
        return result
