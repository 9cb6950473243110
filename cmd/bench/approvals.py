"""The speed of an approval file: reading all of its state."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

from ratios import Promise, compare

from tipstaff.documents.strict_json import canonical
from tipstaff.ledger.approval_file import ApprovalFile

_EVENTS = 100_000
_NOON = datetime(2026, 3, 1, 12, 0, 0, tzinfo=UTC)


def measure() -> Iterator[Promise]:
    """The promise about the fold; every request is decided."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "approvals.jsonl")
        path.write_bytes(b"".join(_lines(_EVENTS)))
        store = ApprovalFile(path, lambda: _NOON + timedelta(minutes=2))
        assert sum(store.counts().values()) == _EVENTS // 2  # noqa: S101  what is measured is what was meant

        def parse() -> None:
            with path.open("rb") as file:
                for line in file:
                    json.loads(line)

        ratios = compare(store.counts, parse, times=1, rounds=5)
        yield Promise("fold of 100,000 approval events / json.loads of each", ratios, 2)


def _lines(events: int) -> Iterator[bytes]:
    """Lines of requests, each followed by its decision."""
    for number in range(events // 2):
        digest = f"{number:064x}"
        yield _line(
            {
                "event": "request",
                "key": digest,
                "kind": "harness",
                "what": f"Promote harness/f{number}.py.",
                "why": ["approval.required: the rules ask for a person"],
                "evidence": {"risk": 0.05, "tests": {"failed": 0, "passed": 3}},
                "risk": "0.05 of at most 0.5",
                "alternatives": ["leave the harness as it is"],
                "urgency": "normal",
                "digest": digest,
                "decision_id": f"01a22bcf-0b17-7f2b-845b-{number:012x}",
                "bundle_revision": "8583287017b9",
                "confirmations": 1,
                "confirm_within_s": 1,
                "created_at": "2026-03-01T12:00:00.000000Z",
                "expires_at": "2026-03-02T12:00:00.000000Z",
                "requested_by": {"id": "alice@desk", "type": "agent"},
            }
        )
        yield _line(
            {
                "event": "decision",
                "key": digest,
                "status": "approved" if number % 3 else "rejected",
                "at": "2026-03-01T12:01:00.000000Z",
                "by": {"id": "bob@desk", "type": "human"},
                "note": None,
                "mac": None,
            }
        )


def _line(event: dict[str, object]) -> bytes:
    return canonical({"schema_version": 1, **event}) + b"\n"
