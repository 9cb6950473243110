"""Many processes on one approval file, and processes that die in the middle of a line."""

from __future__ import annotations

import errno
import os
import random
import signal
import stat
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from support.ledger_parts import ALICE, BOB, asked
from support.racing import killed_while_writing, race
from tipstaff.errors import EvidenceError
from tipstaff.files import locked
from tipstaff.ledger import approval_file
from tipstaff.ledger.approval_file import ApprovalFile

A, B = "a" * 64, "b" * 64


def _store(folder: Path) -> ApprovalFile:
    return ApprovalFile(folder / "approvals.jsonl")


@pytest.mark.req("AP-03")
@pytest.mark.promise("row 75")
def test_of_twenty_racing_deciders_one_writes_a_line(tmp_path: Path) -> None:
    store = _store(tmp_path)
    store.request(asked(A))
    before = store.path.read_bytes()
    acts: list[Callable[[], object]] = [
        (lambda: store.approve(A, BOB)) if number % 2 else (lambda: store.reject(A, ALICE))
        for number in range(20)
    ]
    assert race(acts) == [("approval.decided", 2)] * 19 + [("done", 0)]
    after = store.path.read_bytes()
    assert after.startswith(before)
    assert after[len(before) :].count(b"\n") == 1
    request = store.get(A)
    assert request is not None
    assert request.status in ("approved", "rejected")


@pytest.mark.promise("A2", "row 74")
def test_of_sixteen_who_use_one_approval_one_does(tmp_path: Path) -> None:
    store = _store(tmp_path)
    store.request(asked(A))
    store.approve(A, BOB)
    assert race([lambda: store.consume(A)] * 16) == [("approval.consumed", 2)] * 15 + [("done", 0)]


@pytest.mark.req("HP-06")
def test_twelve_who_ask_about_one_content_at_once_make_one_line(tmp_path: Path) -> None:
    store = _store(tmp_path)
    assert race([lambda: store.request(asked(A))] * 12) == [("done", 0)] * 12
    assert store.path.read_bytes().count(b"\n") == 1


def test_reader_never_sees_half_a_line(tmp_path: Path) -> None:
    store = _store(tmp_path)

    def ask_much(start: int) -> None:
        for number in range(20):
            store.request(asked(f"{start + number:064x}", what="x" * 50_000))

    def read_much() -> None:
        for _ in range(60):
            store.counts()

    acts: list[Callable[[], object]] = [lambda: ask_much(0), lambda: ask_much(100)]
    assert race([*acts, read_much, read_much]) == [("done", 0)] * 4
    assert store.counts()["pending"] == 40


@pytest.mark.req("AP-02")
@pytest.mark.promise("BR-31")
def test_decider_killed_within_its_line_changes_no_earlier_byte(tmp_path: Path) -> None:
    store = _store(tmp_path)
    store.request(asked(A))
    store.request(asked(B))
    before = store.path.read_bytes()
    line = len(_line_of(store, lambda: store.approve(A, BOB), before))
    for kept in (*range(0, line, 13), line):
        store.path.write_bytes(before)
        killed_while_writing(lambda: store.approve(A, BOB), store.path, kept)
        data = store.path.read_bytes()
        assert data.startswith(before)
        assert len(data) == len(before) + kept
        if kept in (0, line):
            assert store.counts()["approved"] == (1 if kept else 0)
            continue
        with pytest.raises(EvidenceError) as refused:
            store.reject(B, BOB)
        assert (refused.value.code, refused.value.field) == ("store.corrupt", "line 3")


def _line_of(store: ApprovalFile, act: Callable[[], object], before: bytes) -> bytes:
    act()
    line = store.path.read_bytes()[len(before) :]
    store.path.write_bytes(before)
    return line


def test_asker_killed_at_its_first_write_leaves_an_empty_or_a_named_line(tmp_path: Path) -> None:
    store = _store(tmp_path)
    for kept in (0, 1, 200):
        store.path.write_bytes(b"")
        killed_while_writing(lambda: store.request(asked(A)), store.path, kept)
        assert store.path.stat().st_size == kept
        if kept == 0:
            assert store.list() == []
            continue
        with pytest.raises(EvidenceError) as refused:
            store.request(asked(A))
        assert refused.value.field == "line 1"


@pytest.mark.promise("BR-31")
def test_writers_killed_at_random_moments_leave_a_store_that_reads(tmp_path: Path) -> None:
    dice, told = random.Random(7), 0
    store = _store(tmp_path)
    for turn in range(6):
        pid = os.fork()
        if pid == 0:
            for number in range(10_000):
                key = f"{turn:02x}{number:062x}"
                store.request(asked(key))
                store.approve(key, BOB)
        time.sleep(dice.uniform(0.01, 0.15))
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        counts = store.counts()
        assert counts["approved"] >= told
        assert counts["pending"] <= turn + 1
        told = counts["approved"]


def test_event_and_its_folder_are_on_disk_before_it_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, done = _store(tmp_path), []
    write, sync = os.write, os.fsync

    def kind(descriptor: int) -> str:
        return "folder" if stat.S_ISDIR(os.fstat(descriptor).st_mode) else "file"

    monkeypatch.setattr(
        os, "write", lambda fd, data: (done.append(f"write {kind(fd)}"), write(fd, data))[1]
    )
    monkeypatch.setattr(os, "fsync", lambda fd: (done.append(f"sync {kind(fd)}"), sync(fd))[1])
    for act in (
        lambda: store.request(asked(A)),
        lambda: store.approve(A, BOB),
        lambda: store.consume(A),
    ):
        act()
        assert done == ["write file", "sync file", "sync folder"]
        done.clear()


@pytest.mark.parametrize("failing", ["write", "short write", "fsync"])
def test_line_that_cannot_be_kept_is_taken_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failing: str
) -> None:
    store = _store(tmp_path)
    store.request(asked(A))
    before = store.path.read_bytes()
    real = os.write

    def no_space(*_: Any) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    def short(descriptor: int, data: bytes) -> int:
        return real(descriptor, data[:10])

    with monkeypatch.context() as patch:
        patch.setattr(
            os, "fsync" if failing == "fsync" else "write", short if " " in failing else no_space
        )
        with pytest.raises(EvidenceError) as refused:
            store.approve(A, BOB)
    assert (refused.value.code, refused.value.exit_code) == ("store.unreadable", 3)
    assert store.path.read_bytes() == before
    assert store.approve(A, BOB).status == "approved"


def test_store_that_somebody_holds_is_waited_for_and_then_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = _store(tmp_path)
    store.request(asked(A))
    monkeypatch.setattr(approval_file, "LOCK_S", 0.05)
    with locked(store.path):
        for use in (store.list, lambda: store.approve(A, BOB), lambda: store.request(asked(B))):
            with pytest.raises(EvidenceError) as refused:
                use()
            assert refused.value.code == "store.locked"
    assert store.approve(A, BOB).status == "approved"
