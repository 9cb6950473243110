"""The approval file that the tests of the ledger share."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.ledger_parts import SetClock
from tipstaff.ledger.approval_file import ApprovalFile


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where it lies; there is none yet."""
    return tmp_path / "approvals.jsonl"


@pytest.fixture
def store(path: Path) -> ApprovalFile:
    """The store there, on a clock that obeys."""
    return ApprovalFile(path, SetClock())
