"""Time limits end at their very instant, and running out of time never carries anything out."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from support.ledger_parts import BOB, NOON, SetClock, asked, note, trail
from tipstaff.documents.approval import ApprovalRequest
from tipstaff.errors import ContractError, EvidenceError
from tipstaff.ledger.approvals import Approvals, Material
from tipstaff.ledger.database import open_database
from tipstaff.ledger.record import NewRecord

MATERIAL = Material({})


@pytest.fixture
def clock() -> SetClock:
    return SetClock()


@pytest.fixture
def approvals(tmp_path: Path, clock: SetClock) -> Approvals:
    return Approvals(open_database(tmp_path), clock)


def _code(act: object) -> str:
    with pytest.raises(ContractError) as refused:
        act()  # type: ignore[operator]
    assert refused.value.exit_code == 2
    return refused.value.code


@pytest.mark.promise("A4")
@pytest.mark.req("AP-08")
def test_an_immediate_request_of_noon_is_expired_at_a_quarter_past(
    approvals: Approvals, clock: SetClock
) -> None:
    key = approvals.request(asked(ttl_s=900), MATERIAL).key
    clock.now = NOON + timedelta(minutes=15, microseconds=-1)
    assert approvals.show(key).status == "pending"
    clock.now = NOON + timedelta(minutes=15)
    assert approvals.show(key).status == "expired"
    assert approvals.counts()["expired"] == 1
    assert approvals.list("pending") == []
    for decide in (approvals.approve, approvals.reject, approvals.confirm_first):
        assert _code(lambda decide=decide: decide(key, BOB)) == "approval.expired"
    assert _code(lambda: approvals.consume(key)) == "approval.expired"


@pytest.mark.promise("A4")
def test_the_last_microsecond_still_counts(approvals: Approvals, clock: SetClock) -> None:
    key = approvals.request(asked(), MATERIAL).key
    clock.now = NOON + timedelta(minutes=15, microseconds=-1)
    assert approvals.approve(key, BOB).status == "approved"
    assert approvals.consume(key).status == "consumed"


@pytest.mark.req("AP-09")
def test_an_expired_request_carries_nothing_out_and_is_told_of_once(
    approvals: Approvals, clock: SetClock, tmp_path: Path
) -> None:
    key = approvals.request(asked(), MATERIAL).key
    with trail(tmp_path / "trail") as mine:

        def record(request: ApprovalRequest) -> None:
            mine.append(NewRecord("expired", request.key, {}, request.requested_by))

        assert approvals.sweep(record) == []
        clock.advance(minutes=15)
        assert _code(lambda: approvals.approve(key, BOB)) == "approval.expired"
        assert [request.key for request in approvals.sweep(record)] == [key]
        assert approvals.sweep(record) == []
        clock.advance(days=9)
        assert approvals.sweep(record) == []
        assert [entry.decision for entry in mine.records()] == ["expired"]
    assert approvals.show(key).status == "expired"
    assert _code(lambda: approvals.consume(key)) == "approval.expired"


def test_an_expiry_that_cannot_be_recorded_is_told_of_later(
    approvals: Approvals, clock: SetClock, tmp_path: Path
) -> None:
    approvals.request(asked(), MATERIAL)
    approvals.request(asked("b" * 64), MATERIAL)
    clock.advance(minutes=15)
    (tmp_path / "blocked").write_text("")
    blocked = trail(tmp_path / "blocked")
    with pytest.raises(EvidenceError):
        approvals.sweep(lambda _: blocked.append(note()))
    told: list[ApprovalRequest] = []
    assert approvals.sweep(told.append) == told
    assert len(told) == 2


def test_an_approval_given_in_time_does_not_turn_into_an_expiry(
    approvals: Approvals, clock: SetClock
) -> None:
    key = approvals.request(asked(), MATERIAL).key
    approvals.approve(key, BOB)
    clock.now = NOON + timedelta(minutes=15)
    assert approvals.sweep() == []
    assert approvals.show(key).status == "approved"
    assert approvals.consume(key).status == "consumed"


def test_asking_again_after_expiry_is_a_new_request(approvals: Approvals, clock: SetClock) -> None:
    first = approvals.request(asked(), MATERIAL)
    clock.advance(minutes=15)
    second = approvals.request(asked(decision_id="decision-2"), MATERIAL)
    assert second.key != first.key
    assert second.expires_at == "2026-03-01T12:30:00.000000Z"
    assert [swept.key for swept in approvals.sweep()] == [first.key]


def test_a_request_from_the_future_cannot_be_decided(approvals: Approvals, clock: SetClock) -> None:
    key = approvals.request(asked(), MATERIAL).key
    clock.advance(hours=-1)
    with pytest.raises(EvidenceError) as refused:
        approvals.approve(key, BOB)
    assert refused.value.code == "approval.future"
    clock.advance(hours=1)
    assert approvals.approve(key, BOB).status == "approved"


@pytest.mark.req("AP-11")
@pytest.mark.parametrize(("second", "accepted"), [(599, True), (600, False), (601, False)])
def test_the_second_confirmation_comes_within_ten_minutes(
    approvals: Approvals, clock: SetClock, second: int, accepted: bool
) -> None:
    key = approvals.request(asked(confirmations=2), MATERIAL).key
    token = approvals.confirm_first(key, BOB)
    assert approvals.show(key).status == "pending"
    clock.advance(seconds=second)
    if accepted:
        assert approvals.approve(key, BOB, token=token).status == "approved"
        assert _code(lambda: approvals.approve(key, BOB, token=token)) == "approval.decided"
        return
    assert _code(lambda: approvals.approve(key, BOB, token=token)) == "approval.token"
    clock.advance(seconds=-second)
    assert _code(lambda: approvals.approve(key, BOB, token=token)) == "approval.token"
    fresh = approvals.confirm_first(key, BOB)
    assert fresh != token
    assert approvals.approve(key, BOB, token=fresh).status == "approved"


@pytest.mark.req("AP-11")
def test_a_wrong_token_is_refused_and_restarts_the_sequence(approvals: Approvals) -> None:
    key = approvals.request(asked(confirmations=2), MATERIAL).key
    assert _code(lambda: approvals.approve(key, BOB)) == "approval.token"
    assert _code(lambda: approvals.approve(key, BOB, token="")) == "approval.token"
    token = approvals.confirm_first(key, BOB)
    assert _code(lambda: approvals.approve(key, BOB)) == "approval.token"
    assert _code(lambda: approvals.approve(key, BOB, token=token[:-1])) == "approval.token"
    assert _code(lambda: approvals.approve(key, BOB, token=token)) == "approval.token"
    assert approvals.show(key).status == "pending"


def test_a_token_is_nowhere_kept_in_the_clear(approvals: Approvals, tmp_path: Path) -> None:
    key = approvals.request(asked(confirmations=2), MATERIAL).key
    token = approvals.confirm_first(key, BOB)
    stored = b"".join(path.read_bytes() for path in tmp_path.iterdir() if path.is_file())
    assert token.encode() not in stored
    assert token not in approvals.show(key).model_dump_json()


def test_a_token_of_one_request_does_not_fit_another(approvals: Approvals) -> None:
    keys = [approvals.request(asked(digit * 64, confirmations=2), MATERIAL).key for digit in "ab"]
    tokens = [approvals.confirm_first(key, BOB) for key in keys]
    assert _code(lambda: approvals.approve(keys[0], BOB, token=tokens[1])) == "approval.token"


@pytest.mark.req("AP-12")
def test_a_fresh_first_confirmation_after_eleven_minutes_gives_a_new_token(
    approvals: Approvals, clock: SetClock
) -> None:
    key = approvals.request(asked(confirmations=2, ttl_s=86400), MATERIAL).key
    old = approvals.confirm_first(key, BOB)
    clock.advance(minutes=11)
    new = approvals.confirm_first(key, BOB)
    assert new != old
    assert approvals.approve(key, BOB, token=new).status == "approved"


@pytest.mark.req("AP-12")
@pytest.mark.parametrize("is_midway", [False, True])
def test_rejecting_takes_one_step(approvals: Approvals, is_midway: bool) -> None:
    key = approvals.request(asked(confirmations=2), MATERIAL).key
    token = approvals.confirm_first(key, BOB) if is_midway else None
    assert approvals.reject(key, BOB, "no").status == "rejected"
    assert _code(lambda: approvals.approve(key, BOB, token=token)) == "approval.decided"


def test_a_single_decision_has_no_first_confirmation(approvals: Approvals) -> None:
    key = approvals.request(asked(), MATERIAL).key
    assert _code(lambda: approvals.confirm_first(key, BOB)) == "approval.single"
    assert approvals.approve(key, BOB).status == "approved"


def test_a_limit_that_ends_before_the_second_confirmation_wins(
    approvals: Approvals, clock: SetClock
) -> None:
    key = approvals.request(asked(confirmations=2, ttl_s=60), MATERIAL).key
    token = approvals.confirm_first(key, BOB)
    clock.advance(seconds=60)
    assert _code(lambda: approvals.approve(key, BOB, token=token)) == "approval.expired"
