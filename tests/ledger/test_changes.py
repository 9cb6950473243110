"""The record of what became of a proposed change."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from support.ledger_parts import asked
from tipstaff.documents.approval import ChangeRecord
from tipstaff.errors import ContractError, EvidenceError
from tipstaff.ledger.approvals import Approvals, Material
from tipstaff.ledger.changes import Changes
from tipstaff.ledger.database import open_database


def _change(name: str = "01900000-aaaa", **fields: Any) -> ChangeRecord:
    return ChangeRecord(
        **{
            "id": name,
            "action_class": "augment",
            "effect": "require_approval",
            "base": "b" * 40,
            "diff_sha256": "d" * 64,
            "files": ["a b.md", "ü\n.py"],
            "state": "judged",
            "created_at": "2026-03-01T12:00:00.000000Z",
            **fields,
        }
    )


@pytest.fixture
def changes(tmp_path: Path) -> Changes:
    return Changes(open_database(tmp_path))


def test_a_change_is_kept_and_shown_as_recorded(changes: Changes) -> None:
    first, second = _change(), _change("01900000-bbbb", created_at="2026-03-02T12:00:00Z")
    changes.record(second)
    changes.record(first)
    assert changes.list() == [first, second]
    assert changes.show("01900000-a") == first
    for name, code in (
        ("01900000", "change.ambiguous"),
        ("019", "change.ambiguous"),
        ("01900000_", "change.unknown"),
        ("%", "change.unknown"),
    ):
        with pytest.raises(ContractError) as refused:
            changes.show(name)
        assert (refused.value.code, refused.value.exit_code) == (code, 2)
    with pytest.raises(ContractError) as refused:
        changes.record(first)
    assert refused.value.code == "change.exists"


def test_a_change_goes_from_judged_to_ready(changes: Changes, tmp_path: Path) -> None:
    changes.record(_change())
    key = Approvals(open_database(tmp_path)).request(asked(), Material({})).key
    name = "01900000-aaaa"
    assert changes.proposing(name).state == "proposing"
    assert changes.committed(name, branch="t/x", commit="c" * 40).branch == "t/x"
    assert [change.id for change in changes.unfinished(_change().diff_sha256)] == [name]
    waiting = changes.awaiting_approval(name, approval=key)
    assert (waiting.state, waiting.approval) == ("awaiting-approval", key)
    assert changes.find(name) == waiting
    assert changes.unfinished(waiting.diff_sha256) == []
    assert changes.ready(name).state == "ready"
    assert changes.rejected(name).state == "rejected"
    assert changes.failed(name).state == "failed"
    assert changes.opened(name, pull_request="u").pull_request == "u"
    assert changes.proposed(name).state == "proposed"
    assert changes.find("01900000") is None
    with pytest.raises(ContractError) as refused:
        changes.ready("01900000")
    assert refused.value.code == "change.unknown"


def test_a_change_edited_into_nonsense_is_corrupt(changes: Changes, tmp_path: Path) -> None:
    changes.record(_change())
    with closing(sqlite3.connect(tmp_path / "ledger.sqlite3")) as other, other:
        other.execute("PRAGMA ignore_check_constraints = ON")
        other.execute("UPDATE changes SET state = 'merged'")
    with pytest.raises(EvidenceError) as refused:
        changes.list()
    assert refused.value.code == "store.corrupt"
