"""Small parts that the tests of the ledger share: people, a clock that obeys, records, requests."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tipstaff.documents.input import Actor
from tipstaff.errors import Error
from tipstaff.ledger.new_request import NewRequest
from tipstaff.ledger.record import NewRecord
from tipstaff.ledger.trail import Trail

ALICE = Actor(id="alice@desk", type="human")
BOB = Actor(id="bob@desk", type="human")
NOON = datetime(2026, 3, 1, 12, 0, 0, tzinfo=UTC)


class SetClock:
    """A clock that stands until it is told otherwise."""

    def __init__(self, now: datetime = NOON) -> None:
        self.now = now

    def __call__(self) -> datetime:
        return self.now

    def advance(self, **amount: float) -> None:
        """Move on by a timedelta's arguments."""
        self.now += timedelta(**amount)


def note(text: str = "seen", **fields: Any) -> NewRecord:
    """A small record that is no decision."""
    return NewRecord("detected", "skills/w", {"note": text}, ALICE, **fields)


def explanation(effect: str = "deny", **changes: Any) -> dict[str, Any]:
    """The detail of a decision's record."""
    reason = {"code": "t.why", "message": "because", "rule": "tipstaff.t", "solution": "change it"}
    outcome = {
        "schema_version": 1,
        "kind": "change",
        "effect": effect,
        "confirmations": 1 if effect == "require_approval" else 0,
        "codes": ["t.why"],
        "reasons": [reason],
        "matched_rules": ["tipstaff.t"],
        "obligations": [],
        "advice": [],
        "facts": {},
        "policy": {
            "bundle": "tipstaff",
            "revision": "r1",
            "data_digest": "d1",
            "opa_version": "1.22.3",
        },
        "decision_id": "decision-1",
    }
    detail = {
        "event": {"kind": "change"},
        "evidence": {"tests": None},
        "preferences": {"team": {}},
        "outcome": outcome,
        "correction": ["change it"],
        "untrusted": ["event", "evidence"],
    }
    return {**detail, **changes}


def decision(effect: Any = "deny", **fields: Any) -> NewRecord:
    """The record of a decision."""
    detail = explanation(effect, **fields.pop("detail", {}))
    return NewRecord(
        effect,
        "diff:1234",
        detail,
        ALICE,
        decision_id=fields.pop("decision_id", "decision-1"),
        codes=("t.why",),
        **fields,
    )


def trail(folder: Path, **options: Any) -> Trail:
    """The trail of a folder, with its witness beside the state."""
    return Trail(folder / "state", witness=folder / "witness", **options)


def asked(digest: str = "a" * 64, **changes: Any) -> NewRequest:
    """A request for one decision within fifteen minutes."""
    fields: dict[str, Any] = {
        "kind": "change",
        "what": "Apply a fix to skills/w.",
        "why": ("gate.require_human: a person decides",),
        "evidence": {"tests": {"passed": 3}},
        "risk": "adds lines only",
        "alternatives": ("leave the file as it is",),
        "urgency": "immediate",
        "digest": digest,
        "decision_id": "decision-1",
        "bundle_revision": "r1",
        "confirmations": 1,
        "confirm_within_s": 600,
        "ttl_s": 900,
        "requested_by": ALICE,
    }
    return NewRequest(**{**fields, **changes})


def refused(code: str, exit_code: int = 2, line: int | None = None) -> Any:
    """The context of a block that must end in this error of ours, perhaps about this line of a file."""

    def fits(error: Error) -> bool:
        where = error.field == f"line {line}" if line else True
        return (error.code, error.exit_code) == (code, exit_code) and bool(error.fix) and where

    return pytest.RaisesExc(Error, check=fits)
