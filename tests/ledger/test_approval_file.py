"""The approval store in a file: what it holds, what it refuses to read, and what it never touches."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from support.ledger_parts import ALICE, BOB, SetClock, asked, refused
from tipstaff.documents.strict_json import canonical
from tipstaff.ledger.approval_file import ApprovalFile
from tipstaff.ledger.approval_store import key_of, open_store

A, B = "a" * 64, "b" * 64
NOTHING = {"pending": 0, "approved": 0, "rejected": 0, "expired": 0, "consumed": 0}


@pytest.mark.req("HC-08")
def test_missing_store_is_an_empty_queue_and_is_not_made(path: Path) -> None:
    store = open_store(path)
    assert store.list() == []
    assert store.counts() == NOTHING
    assert store.get(A) is None
    assert store.sweep() == []
    for act in (store.approve, store.reject):
        with refused("approval.unknown"):
            act(A, BOB)
    assert not path.exists()


@pytest.mark.req("AP-07", "AP-02")
def test_request_is_one_canonical_line_with_all_that_a_person_needs(
    store: ApprovalFile, path: Path
) -> None:
    request = store.request(asked(A))
    line = path.read_bytes()
    fields = json.loads(line)
    assert line == canonical(fields) + b"\n"
    shown = request.model_dump(exclude={"status", "decided_by", "decided_at", "note"})
    assert fields == {**shown, "event": "request", "schema_version": 1}
    assert store.get(A) == request
    assert path.stat().st_mode & 0o777 == 0o600


@pytest.mark.req("AP-07")
@pytest.mark.parametrize(
    "missing",
    ["what", "why", "evidence", "risk", "alternatives", "urgency", "digest", "key", "expires_at"],
)
def test_request_without_a_member_is_corrupt(store: ApprovalFile, path: Path, missing: str) -> None:
    store.request(asked(A))
    fields = json.loads(path.read_bytes())
    del fields[missing]
    path.write_bytes(canonical(fields) + b"\n")
    with refused("store.corrupt", 3, 1):
        store.list()


@pytest.mark.parametrize("limit", [0, -1, 10**15])
def test_impossible_request_is_refused_and_makes_no_file(
    store: ApprovalFile, path: Path, limit: int
) -> None:
    with refused("document.invalid"):
        store.request(asked(ttl_s=limit))
    with refused("document.invalid"):
        store.request(asked(alternatives=()))
    with refused("document.invalid"):
        store.request(asked(A, key=key_of(B, "p")))
    with refused("document.invalid"):
        store.request(asked(A, key=key_of(A, "two words")))
    assert not path.exists()


@pytest.mark.req("HS-12")
def test_key_is_the_digest_after_the_prefix(store: ApprovalFile) -> None:
    assert store.request(asked(A, key=key_of(A, "p"))).key == f"p:{A}"
    assert store.request(asked(A, key=key_of(A))).key == A
    assert store.request(asked(A, key=key_of(A, "p:q"))).key == f"p:q:{A}"
    assert store.counts()["pending"] == 3
    store.reject(f"p:{A}", BOB)
    assert [request.status for request in store.list()] == ["rejected", "pending", "pending"]


@pytest.mark.req("HP-06", "HC-09")
def test_asking_again_adds_no_line_and_a_decision_adds_exactly_one(
    store: ApprovalFile, path: Path
) -> None:
    first = store.request(asked(A))
    before = path.read_bytes()
    assert store.request(asked(A, decision_id="decision-2")) == first
    assert path.read_bytes() == before
    decided = store.approve(A, BOB, note="looks right; password=hunter2")
    after = path.read_bytes()
    assert after.startswith(before)
    assert after.count(b"\n") == 2
    assert decided.status == "approved"
    assert (decided.decided_by, decided.decided_at) == (BOB, "2026-03-01T12:00:00.000000Z")
    assert decided.note == "looks right; password=[redacted]"
    assert store.request(asked(A)) == decided
    assert path.read_bytes() == after


@pytest.mark.req("HC-10")
@pytest.mark.parametrize("verdict", ["approve", "reject"])
def test_unknown_or_decided_key_is_refused_and_nothing_is_written(
    store: ApprovalFile, path: Path, verdict: str
) -> None:
    store.request(asked(A))
    store.request(asked(B))
    store.reject(A, ALICE, "no")
    before = path.read_bytes()
    decide = getattr(store, verdict)
    with refused("approval.decided"):
        decide(A, BOB)
    for key in ("c" * 64, f"p:{A}", B[:12], B.upper(), "", " ", "../x", "\ud800"):
        with refused("approval.unknown"):
            decide(key, BOB)
    assert path.read_bytes() == before
    assert store.request(asked(A)).status == "rejected"


@pytest.mark.req("AP-08", "AP-09")
@pytest.mark.promise("A4", "row 73")
def test_request_is_expired_from_its_very_end_on(path: Path) -> None:
    clock = SetClock()
    store = ApprovalFile(path, clock)
    store.request(asked(A, ttl_s=900))
    store.request(asked(B, ttl_s=900))
    clock.advance(seconds=900, microseconds=-1)
    store.approve(A, BOB)
    before = path.read_bytes()
    clock.advance(microseconds=1)
    assert store.counts() == {**NOTHING, "approved": 1, "expired": 1}
    for decide in (store.approve, store.reject):
        with refused("approval.expired"):
            decide(B, BOB)
    with refused("approval.expired"):
        store.consume(B)
    assert path.read_bytes() == before


@pytest.mark.req("AP-09")
def test_each_expiry_is_told_once_and_content_may_be_asked_about_again(path: Path) -> None:
    clock, told = SetClock(), []
    store = ApprovalFile(path, clock)
    store.request(asked(A))
    clock.advance(hours=1)
    with pytest.raises(ZeroDivisionError):
        store.sweep(lambda request: 1 // 0)
    assert store.sweep(told.append) == told
    assert [request.key for request in told] == [A]
    assert store.sweep(told.append) == []
    again = store.request(asked(A))
    assert (again.status, again.created_at) == ("pending", "2026-03-01T13:00:00.000000Z")
    assert store.counts() == {**NOTHING, "pending": 1}
    store.approve(A, BOB)
    clock.advance(hours=1)
    assert store.request(asked(A)).status == "pending"
    store.approve(A, BOB)
    assert store.consume(A).status == "consumed"
    assert store.request(asked(A)).status == "pending"
    store.reject(A, BOB)
    clock.advance(hours=1)
    assert store.request(asked(A)).status == "rejected"


@pytest.mark.req("AP-10")
@pytest.mark.promise("row 70")
def test_approval_is_used_once(store: ApprovalFile, path: Path) -> None:
    store.request(asked(A))
    with refused("approval.undecided"):
        store.consume(A)
    store.approve(A, BOB)
    used = store.consume(A)
    assert (used.status, used.decided_by) == ("consumed", BOB)
    before = path.read_bytes()
    with refused("approval.consumed"):
        store.consume(A)
    assert path.read_bytes() == before


@pytest.mark.req("AP-11", "AP-12")
def test_pair_of_confirmations_needs_the_token_in_time(path: Path) -> None:
    clock = SetClock()
    store = ApprovalFile(path, clock)
    store.request(asked(A, confirmations=2, ttl_s=90_000))
    with refused("approval.token"):
        store.approve(A, BOB)
    first = store.confirm_first(A, BOB)
    assert first not in path.read_text()
    clock.advance(minutes=10)
    with refused("approval.token"):
        store.approve(A, BOB, token=first)
    second = store.confirm_first(A, BOB)
    assert second != first
    with refused("approval.token"):
        store.approve(A, BOB, token=first)
    with refused("approval.token"):
        store.approve(A, BOB, token=second)
    third = store.confirm_first(A, BOB)
    clock.advance(minutes=9, seconds=59)
    assert store.approve(A, BOB, token=third).status == "approved"
    store.request(asked(B, confirmations=2))
    assert store.reject(B, BOB).status == "rejected"
    store.request(asked("c" * 64))
    with refused("approval.single"):
        store.confirm_first("c" * 64, BOB)


def test_request_made_ahead_of_the_clock_cannot_be_decided(path: Path) -> None:
    clock = SetClock()
    store = ApprovalFile(path, clock)
    store.request(asked(A))
    clock.advance(seconds=-1)
    with refused("approval.future", 3):
        store.approve(A, BOB)


def test_evidence_of_any_form_is_read_as_it_was_written(store: ApprovalFile, path: Path) -> None:
    evidence = {
        "zero": 0.0,
        "tiny": 1e-7,
        "large": 1e21,
        "third": 1 / 3,
        "whole": 2.0,
        "integer": 2**53 - 1,
        "\u00fc": "\u2028\x7f\x00\u20ac\U0001f600",
        "\uff5e": 1,
        "\U0001f600": {"b": [None, True, {"a": -1}], "a": "\\\"/"},
        "z" * 300: "",
    }  # fmt: skip
    request = store.request(asked(A, evidence=evidence))
    assert request.evidence == evidence
    assert store.list() == [request]
    assert path.read_bytes().count(b"\n") == 1


def test_folder_that_is_missing_is_an_error_for_who_asks(tmp_path: Path) -> None:
    store = ApprovalFile(tmp_path / "absent/approvals.jsonl", SetClock())
    assert store.list() == []
    with refused("store.unreadable", 3):
        store.request(asked(A))
    assert not (tmp_path / "absent").exists()


def test_store_that_others_may_read_is_closed_by_the_next_line(
    store: ApprovalFile, path: Path
) -> None:
    path.touch(0o666)
    path.chmod(0o666)
    store.request(asked(A))
    assert path.stat().st_mode & 0o777 == 0o600


def test_line_that_is_too_large_isrefused(store: ApprovalFile, path: Path) -> None:
    store.request(asked(A))
    before = path.read_bytes()
    with refused("store.too_large"):
        store.approve(A, BOB, note="x" * (1 << 20))
    with refused("json.not_canonical"):
        store.approve(A, BOB, note="\udcff")
    assert path.read_bytes() == before


def test_store_larger_than_what_is_read_isrefused(
    store: ApprovalFile, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with path.open("wb") as file:
        file.truncate((1 << 30) + 1)
    with refused("store.unreadable", 3):
        store.list()
