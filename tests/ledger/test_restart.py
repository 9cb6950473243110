"""Beginning a new trail where the old one is damaged or gone."""

from __future__ import annotations

from pathlib import Path

import pytest

from tipstaff.documents.input import Actor
from tipstaff.errors import EvidenceError
from tipstaff.ledger.trail import NewRecord, Trail

PERSON = Actor(id="alice@desk", type="human")
RECORD = NewRecord(decision="paused", target="pause:global", detail={}, actor=PERSON)


@pytest.fixture
def trail(tmp_path: Path) -> Trail:
    trail = Trail(tmp_path / "state", witness=tmp_path / "witness")
    trail.append(RECORD, RECORD)
    trail.close()
    return trail


def test_lost_trail_takes_records_after_a_restart(trail: Trail) -> None:
    lost = trail.records().__next__().hash
    trail.path.unlink()
    with pytest.raises(EvidenceError) as refused:
        trail.append(RECORD)
    assert "audit restart" in refused.value.fix
    first = trail.restart(PERSON, "the disk was lost")
    trail.append(RECORD)
    trail.close()
    assert (first.seq, first.decision) == (1, "restarted")
    assert first.detail["before"]["witnessed_seq"] == 2
    assert first.detail["before"]["witnessed_hash"] != lost
    assert trail.verify().is_valid


def test_damaged_trail_is_set_aside_whole(trail: Trail) -> None:
    damaged = trail.path.read_bytes()[:-40] + b"x" * 40
    trail.path.write_bytes(damaged)
    first = trail.restart(PERSON, "an edit")
    folder = trail.path.parent / first.detail["before"]["set_aside"]
    assert (folder / trail.path.name).read_bytes() == damaged
    trail.close()
    assert [record.seq for record in trail.records()] == [1]
    assert trail.verify().is_valid


def test_set_aside_trail_put_back_is_found(trail: Trail) -> None:
    before = trail.path.read_bytes()
    trail.restart(PERSON, "a clean start")
    trail.close()
    trail.path.write_bytes(before)
    assert not trail.verify().is_valid
