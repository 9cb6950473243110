"""Asking for a decision, deciding, and using the decision."""

from __future__ import annotations

import select
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import Engine

from support.ledger_parts import ALICE, BOB, SetClock, asked
from tipstaff.documents.approval import ApprovalRequest
from tipstaff.errors import ContractError, Error, EvidenceError
from tipstaff.ledger.approvals import Approvals, Material
from tipstaff.ledger.database import open_database

TESTS = Path(__file__).parents[1]
MATERIAL = Material({"kind": "change"}, b"--- a\n\xff\x00")


@pytest.fixture
def database(tmp_path: Path) -> Engine:
    return open_database(tmp_path)


@pytest.fixture
def approvals(database: Engine) -> Approvals:
    return Approvals(database, SetClock())


def _refused(code: str, exit_code: int = 2) -> pytest.RaisesExc[Error]:
    def fits(error: Error) -> bool:
        return (error.code, error.exit_code) == (code, exit_code) and bool(error.fix)

    return pytest.RaisesExc(Error, check=fits)


def _by_hand(tmp_path: Path, statement: str) -> None:
    with closing(sqlite3.connect(tmp_path / "ledger.sqlite3")) as other, other:
        other.execute("PRAGMA ignore_check_constraints = ON")
        other.execute(statement)


@pytest.mark.req("AP-07")
def test_a_request_carries_all_that_a_person_needs(approvals: Approvals) -> None:
    request = approvals.request(asked(), MATERIAL)
    assert approvals.show(request.key) == request
    assert request.model_dump(exclude={"key"}) == {
        "status": "pending",
        "kind": "change",
        "what": "Apply a fix to skills/w.",
        "why": ["gate.require_human: a person decides"],
        "evidence": {"tests": {"passed": 3}},
        "risk": "adds lines only",
        "alternatives": ["leave the file as it is"],
        "urgency": "immediate",
        "digest": "a" * 64,
        "decision_id": "decision-1",
        "bundle_revision": "r1",
        "confirmations": 1,
        "confirm_within_s": 600,
        "created_at": "2026-03-01T12:00:00.000000Z",
        "expires_at": "2026-03-01T12:15:00.000000Z",
        "requested_by": {"id": "alice@desk", "type": "human"},
        "decided_by": None,
        "decided_at": None,
        "note": None,
    }
    assert approvals.material(request.key) == MATERIAL


@pytest.mark.req("AP-07")
def test_a_request_without_alternatives_is_a_schema_error(approvals: Approvals) -> None:
    with pytest.raises(ContractError, match="alternatives") as refused:
        approvals.request(asked(alternatives=()), MATERIAL)
    assert refused.value.exit_code == 2
    request = approvals.request(asked(), MATERIAL).model_dump()
    del request["alternatives"]
    with pytest.raises(ValueError, match="alternatives"):
        ApprovalRequest.model_validate(request)


@pytest.mark.parametrize("limit", [0, -1, 10**15])
def test_an_impossible_time_limit_is_refused(approvals: Approvals, limit: int) -> None:
    with pytest.raises(ContractError):
        approvals.request(asked(ttl_s=limit), MATERIAL)
    assert approvals.list() == []


def test_asking_again_for_the_same_content_finds_the_pending_request(
    approvals: Approvals,
) -> None:
    first = approvals.request(asked(), MATERIAL)
    again = approvals.request(asked(decision_id="decision-2"), Material({}))
    assert again == first
    assert approvals.material(first.key) == MATERIAL
    assert approvals.request(asked("b" * 64), MATERIAL).key != first.key
    approvals.reject(first.key, BOB)
    assert approvals.request(asked(), MATERIAL).status == "rejected"
    fresh = approvals.request(asked(decision_id="decision-2"), MATERIAL)
    assert (fresh.status, fresh.key == first.key) == ("pending", False)


@pytest.mark.req("AP-01")
def test_requests_stand_in_one_of_five_statuses(approvals: Approvals) -> None:
    keys = [approvals.request(asked(digit * 64), MATERIAL).key for digit in "abcd"]
    approvals.approve(keys[0], BOB)
    approvals.approve(keys[1], BOB)
    approvals.consume(keys[1])
    approvals.reject(keys[2], BOB, "no")
    counts = {"pending": 1, "approved": 1, "rejected": 1, "expired": 0, "consumed": 1}
    assert approvals.counts() == counts
    assert [request.key for request in approvals.list("rejected")] == [keys[2]]
    assert {request.key for request in approvals.list()} == set(keys)
    with _refused("approval.status"):
        approvals.list("denied")


@pytest.mark.req("AP-01")
def test_a_store_with_the_status_denied_is_corrupt(approvals: Approvals, tmp_path: Path) -> None:
    key = approvals.request(asked(), MATERIAL).key
    other = approvals.request(asked("b" * 64), MATERIAL).key
    with pytest.raises(sqlite3.IntegrityError):
        with closing(sqlite3.connect(tmp_path / "ledger.sqlite3")) as plain:
            plain.execute("UPDATE approvals SET status = 'denied'")
    _by_hand(tmp_path, f"UPDATE approvals SET status = 'denied' WHERE key = '{key}'")
    uses = [
        lambda: approvals.list("pending"),
        approvals.counts,
        lambda: approvals.show(other),
        lambda: approvals.approve(other, BOB),
        lambda: approvals.reject(other, BOB),
        lambda: approvals.confirm_first(other, BOB),
        lambda: approvals.consume(other),
        lambda: approvals.request(asked("c" * 64), MATERIAL),
        lambda: approvals.stale("r1"),
    ]
    for use in uses:
        with _refused("store.corrupt", 3):
            use()


def test_a_row_edited_into_nonsense_is_corrupt(approvals: Approvals, tmp_path: Path) -> None:
    key = approvals.request(asked(), MATERIAL).key
    for change in ("content = '{}'", "expires_at = 'tomorrow'", "document = '['"):
        _by_hand(tmp_path, f"UPDATE approvals SET {change}")
        with _refused("store.corrupt", 3):
            approvals.show(key)
            approvals.material(key)


def test_a_key_is_given_whole_or_by_a_unique_prefix(approvals: Approvals) -> None:
    keys = [approvals.request(asked(f"{n:064x}"), MATERIAL).key for n in range(5)]
    assert approvals.show(keys[0][:6]).key == keys[0]
    assert approvals.approve(keys[1][:8], BOB).key == keys[1]
    for unknown in ("f" * 64, "0" * 6, "", "%", "______", keys[0] + "0", "é" * 8, keys[0].upper()):
        with pytest.raises(ContractError) as refused:
            approvals.show(unknown)
        assert refused.value.code in ("approval.unknown", "approval.ambiguous")
    with _refused("approval.unknown"):
        approvals.approve("f" * 64, BOB)
    with _refused("approval.ambiguous"):
        approvals.show(keys[0][:5])


def test_a_decision_names_its_person_time_and_note(approvals: Approvals) -> None:
    key = approvals.request(asked(), MATERIAL).key
    approved = approvals.approve(key, BOB, note="looks right")
    assert approved.decided_by == BOB
    assert approved.decided_at == "2026-03-01T12:00:00.000000Z"
    assert approvals.show(key) == approved
    for decide in (approvals.approve, approvals.reject, approvals.confirm_first):
        with _refused("approval.decided"):
            decide(key, ALICE)
    assert approvals.show(key) == approved


@pytest.mark.req("AP-10")
def test_an_approval_is_used_once(approvals: Approvals) -> None:
    key = approvals.request(asked(), MATERIAL).key
    with _refused("approval.undecided"):
        approvals.consume(key)
    approvals.approve(key, BOB)
    assert approvals.consume(key).status == "consumed"
    with _refused("approval.consumed"):
        approvals.consume(key)
    rejected = approvals.request(asked("b" * 64), MATERIAL).key
    approvals.reject(rejected, BOB)
    with _refused("approval.undecided"):
        approvals.consume(rejected)


def test_requests_of_another_revision_are_stale(approvals: Approvals) -> None:
    old = approvals.request(asked(), MATERIAL)
    approvals.request(asked("b" * 64, bundle_revision="r2"), MATERIAL)
    decided = approvals.request(asked("c" * 64), MATERIAL).key
    approvals.reject(decided, BOB)
    assert approvals.stale("r2") == [old]


def _race(state: Path, key: str, verbs: list[str]) -> list[tuple[str, int]]:
    command = [sys.executable, "-m", "support.decider", str(state), key]
    racers = [
        subprocess.Popen(
            [*command, verb], cwd=TESTS, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        for verb in verbs
    ]
    for racer in racers:
        assert racer.stdout is not None
        assert racer.stdout.readline() == "ready\n"
    for racer in racers:
        assert racer.stdin is not None
        racer.stdin.write("go\n")
        racer.stdin.flush()
    ends = [(racer.communicate(timeout=60)[0].strip(), racer.returncode) for racer in racers]
    return sorted(ends)


@pytest.mark.req("AP-03")
def test_twenty_racing_deciders_make_one_decision(tmp_path: Path, database: Engine) -> None:
    approvals = Approvals(database)
    key = approvals.request(asked(), MATERIAL).key
    ends = _race(tmp_path, key, ["approve", "reject"] * 10)
    assert ends[:19] == [("approval.decided", 2)] * 19
    assert ends[19] in (("approved", 0), ("rejected", 0))
    assert approvals.show(key).status == ends[19][0]
    assert approvals.show(key).note == ends[19][0].removesuffix("ed").replace("approv", "approve")


def test_racing_users_of_one_approval_use_it_once(tmp_path: Path, database: Engine) -> None:
    approvals = Approvals(database)
    key = approvals.request(asked(), MATERIAL).key
    approvals.approve(key, BOB)
    ends = _race(tmp_path, key, ["consume"] * 6)
    assert ends == [("approval.consumed", 2)] * 5 + [("consumed", 0)]


HOLDER = """
import sys
from pathlib import Path
from support.ledger_parts import BOB
from tipstaff.ledger.approvals import Approvals
from tipstaff.ledger.database import open_database
approvals = Approvals(open_database(Path(sys.argv[1])))
print("started", flush=True)
with approvals.hold(sys.argv[2]) as request:
    if request.status == "pending":
        request = approvals.approve(request.key, BOB)
    print(request.decided_at, flush=True)
    sys.stdin.readline()
"""


def test_what_a_killed_holder_approved_is_taken_up_by_the_next(
    tmp_path: Path, database: Engine
) -> None:
    approvals = Approvals(database)
    key = approvals.request(asked(), MATERIAL).key
    with _holder(tmp_path, key) as first:
        approved_at = _line(first)
        with _holder(tmp_path, key) as second:
            assert approvals.show(key).status == "approved"
            assert select.select([second.stdout], [], [], 0.3)[0] == []
            first.kill()
            assert _line(second) == approved_at
            second.kill()
    with approvals.hold(key) as request:
        assert request.status == "approved"
        approvals.consume(key)
    assert list((tmp_path / "holds").iterdir()) == []


def _holder(state: Path, key: str) -> subprocess.Popen[str]:
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(state), key],
        cwd=TESTS,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert _line(holder) == "started"
    return holder


def _line(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def test_an_unusable_hold_folder_is_an_error_of_ours(approvals: Approvals, tmp_path: Path) -> None:
    key = approvals.request(asked(), MATERIAL).key
    (tmp_path / "holds").write_text("")
    with pytest.raises(EvidenceError) as refused, approvals.hold(key):
        pass
    assert refused.value.code == "store.unreadable"
