"""One fault planted against each promise about approval files: a test of the promise turns red."""

from __future__ import annotations

import inspect
import os
import time
from pathlib import Path
from typing import Any

import pytest

from ledger import conftest
from tipstaff.errors import ContractError, EvidenceError
from tipstaff.ledger import approval_file, approval_fold, approval_lines
from tipstaff.ledger.approval_file import ApprovalFile
from tipstaff.ledger.approval_fold import Entry
from tipstaff.ledger.approval_lines import Seal
from traceability.test_planted_faults import Plant, module, python

HERE = "ledger/"
PROCESSES, DAMAGE = HERE + "test_approval_file_processes.py", HERE + "test_approval_file_damage.py"
FILE, MAC = HERE + "test_approval_file.py", HERE + "test_approval_mac.py"
WHOLE_DAMAGE = "test_damaged_line_leaves_everything_undecided"


def without_a_lock(patch: pytest.MonkeyPatch, _tmp: Path) -> None:
    """Processes that ask for no lock, and think for a moment before they write."""
    append = ApprovalFile._append
    patch.setattr("fcntl.flock", lambda *_: None)

    def slowly(self: Any, store: Any, events: Any) -> None:
        time.sleep(0.2)
        append(self, store, events)

    patch.setattr(ApprovalFile, "_append", slowly)


def bad_lines_are_skipped(patch: pytest.MonkeyPatch, _tmp: Path) -> None:
    """A reader that goes on after a line that it cannot take."""

    def feed(_self: Any, lines: Any, fold: Any, _seal: Any) -> None:
        for line in lines:
            try:
                fold.add(approval_lines.read_event(line[:-1]), line[:-1])
            except ContractError:
                continue

    patch.setattr(ApprovalFile, "_feed", feed)


def torn_lines_are_whole(patch: pytest.MonkeyPatch, _tmp: Path) -> None:
    """A reader that drops what does not end."""
    feed = ApprovalFile._feed

    def without_tail(self: Any, lines: Any, fold: Any, seal: Any) -> None:
        feed(self, [line for line in lines if line.endswith(b"\n")], fold, seal)

    patch.setattr(ApprovalFile, "_feed", without_tail)


def any_form_will_do(patch: pytest.MonkeyPatch, _tmp: Path) -> None:
    """A reader that takes every spelling of an event."""
    patch.setattr(approval_lines, "canonical", lambda _value: _Anything())
    patch.setattr(approval_file, "write_event", _written)


def each_line_alone(patch: pytest.MonkeyPatch, _tmp: Path) -> None:
    """A MAC that forgets what came before."""
    follow = Seal.follow

    def alone(self: Any, event: Any, line: bytes) -> bool:
        proven = follow(self, event, line)
        self._head = bytes(32)
        return proven

    patch.setattr(Seal, "follow", alone)


class _WithoutSync:
    """The operating system, which is never asked to put a file on disk."""

    def __getattr__(self, name: str) -> Any:
        return (lambda _descriptor: None) if name == "fsync" else getattr(os, name)


class _Anything(bytes):
    def __ne__(self, _other: object) -> bool:
        return False

    __hash__ = bytes.__hash__


def _written(event: Any) -> bytes:
    from tipstaff.documents.strict_json import canonical

    return canonical(event.model_dump())


FAULTS: dict[str, tuple[Plant, str, str, dict[str, Any]]] = {
    "AP-03: no lock": (
        without_a_lock,
        PROCESSES,
        "test_of_twenty_racing_deciders_one_writes_a_line",
        {},
    ),
    "AP-02: no fsync": (
        python(approval_file, "os", _WithoutSync()),
        PROCESSES,
        "test_event_and_its_folder_are_on_disk_before_it_counts",
        {},
    ),
    "AP-02: the folder is not synced": (
        python(approval_file, "sync_folder", lambda _path: None),
        PROCESSES,
        "test_event_and_its_folder_are_on_disk_before_it_counts",
        {},
    ),
    "AP-02: a failed write is left": (
        python(os, "ftruncate", lambda *_: None),
        PROCESSES,
        "test_line_that_cannot_be_kept_is_taken_back",
        {"failing": "short write"},
    ),
    "AP-02: a bad line is skipped": (
        bad_lines_are_skipped,
        DAMAGE,
        WHOLE_DAMAGE,
        {"damage": "foreign JSON"},
    ),
    "AP-02: a torn line is dropped": (
        torn_lines_are_whole,
        DAMAGE,
        "test_store_cut_at_any_byte_is_undecided_and_names_the_torn_line",
        {},
    ),
    "AP-02: any spelling will do": (
        any_form_will_do,
        DAMAGE,
        WHOLE_DAMAGE,
        {"damage": "white space"},
    ),
    "HC-10: a decided request is decided again": (
        python(approval_fold, "_demand_open", lambda *_: None),
        DAMAGE,
        WHOLE_DAMAGE,
        {"damage": "rejection made approval by a second line"},
    ),
    "A4: time is over after its end only": (
        python(
            Entry,
            "status",
            lambda self, now: (
                "expired" if self.outcome == "pending" and now > self.expires_at else self.outcome
            ),
        ),
        FILE,
        "test_request_is_expired_from_its_very_end_on",
        {},
    ),
    "AP-11: any token will do": (
        python(approval_file, "is_token", lambda *_: True),
        FILE,
        "test_pair_of_confirmations_needs_the_token_in_time",
        {},
    ),
    "AP-06: nobody looks at a MAC": (
        python(Seal, "follow", lambda *_: True),
        MAC,
        "test_any_edit_before_a_decision_is_noticed",
        {},
    ),
    "AP-06: a MAC covers its own line only": (
        each_line_alone,
        MAC,
        "test_any_edit_before_a_decision_is_noticed",
        {},
    ),
    "X-31: a store stays open to others": (
        python(os, "fchmod", lambda *_: None),
        FILE,
        "test_store_that_others_may_read_is_closed_by_the_next_line",
        {},
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_planted_fault_turns_a_test_red(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, fault: str
) -> None:
    plant, path, name, values = FAULTS[fault]
    tests = module(path)
    given: dict[str, Any] = {"monkeypatch": monkeypatch, "tmp_path": tmp_path, **values}
    plant(monkeypatch, tmp_path)
    for fixture in ("path", "key", "store"):
        made = getattr(tests, fixture, None) or getattr(conftest, fixture, None)
        if made is not None:
            make = made.__wrapped__
            given[fixture] = make(**{n: given[n] for n in inspect.signature(make).parameters})
    test = getattr(tests, name)
    with pytest.raises((AssertionError, pytest.fail.Exception, EvidenceError)):
        test(**{n: given[n] for n in inspect.signature(test).parameters})
