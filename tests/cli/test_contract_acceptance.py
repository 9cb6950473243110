"""`tipstaff contracts accept`: a snapshot moves by a person, to the bytes that were shown, and on record."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest

from support.pinned import FORECAST, STATIONS, TIME, Pinned
from support.workshop import Workshop
from tipstaff.documents.contract import Snapshot, altered, read_snapshot, snapshot, text
from tipstaff.documents.input import Actor
from tipstaff.drift.candidates import KEPT, Candidates
from tipstaff.drift.screen import difference
from tipstaff.project import current_actor

Kept = tuple[Pinned, Snapshot]


def contract(*tools: object, name: str = "weather") -> Snapshot:
    """A snapshot with these tools."""
    return snapshot(
        {"schema_version": 2, "server_id": name, "captured_at": TIME, "tools": list(tools)}
    )


@pytest.fixture
def kept(workshop: Workshop, monkeypatch: pytest.MonkeyPatch) -> Kept:
    """A project with a committed snapshot, and a candidate that has one tool less."""
    return lay(Pinned(workshop, monkeypatch))


def lay(pinned: Pinned) -> Kept:
    """Commit the snapshot and keep the candidate."""
    pinned.pin.parent.mkdir(exist_ok=True)
    pinned.pin.write_text(text(contract(FORECAST, STATIONS)))
    return pinned, keep(pinned, contract(FORECAST))


def keep(pinned: Pinned, found: Snapshot, by: Actor | None = None) -> Snapshot:
    """Keep a candidate, as a check does."""
    Candidates(pinned.workshop.state).keep(found, by or current_actor())
    return found


@pytest.mark.req("C-20")
@pytest.mark.promise("ahead 2", "ahead 3")
def test_person_moves_the_snapshot_and_the_record_says_who_saw_which_bytes(kept: Kept) -> None:
    pinned, found = kept
    old = read_snapshot(pinned.pin)
    done = pinned.run("accept", "weather", "--digest", found.digest, "--json")
    assert (done.code, done.json["verdict"]["codes"]) == (0, ["accept.granted"])
    assert pinned.pin.read_text() == text(found)
    decision, record = pinned.workshop.records()
    assert (decision["decision"], record["decision"]) == ("allow", "accepted")
    assert record["decision_id"] == decision["decision_id"] == done.json["verdict"]["decision_id"]
    assert record["actor"] == current_actor().model_dump()
    shown = difference(old, found)
    assert done.json["shown"] == shown
    assert record["detail"] == {
        "server": "weather",
        "old_digest": old.digest,
        "new_digest": found.digest,
        "shown_sha256": hashlib.sha256(shown.encode()).hexdigest(),
        "seen": record["detail"]["seen"],
    }
    assert record["detail"]["seen"]["seen_by"] == current_actor().model_dump()
    assert pinned.workshop.is_sound()
    assert pinned.candidates() == []


@pytest.mark.req("C-20")
@pytest.mark.promise("ahead 2", "BR-04")
@pytest.mark.parametrize(
    ("variable", "type"), [("CLAUDECODE", "agent"), ("TIPSTAFF_NESTED", "agent"), ("CI", "ci")]
)
def test_agent_and_ci_move_nothing(kept: Kept, variable: str, type: str) -> None:
    pinned, found = kept
    before = pinned.pin.read_bytes()
    pinned.patch.setenv(variable, "1")
    done = pinned.run("accept", "weather", "--digest", found.digest, "--json")
    assert (done.code, done.json["verdict"]["codes"]) == (1, ["accept.human_only"])
    assert (done.json["file"], pinned.pin.read_bytes()) == (None, before)
    [record] = pinned.workshop.records()
    assert (record["decision"], record["actor"]["type"]) == ("deny", type)


@pytest.mark.promise("ahead 2")
def test_digest_that_nobody_was_shown_moves_nothing(kept: Kept) -> None:
    pinned, found = kept
    before = pinned.pin.read_bytes()
    done = pinned.run("accept", "weather", "--digest", "0" * 64, "--json")
    assert (done.code, done.json["verdict"]["codes"]) == (1, ["accept.other_bytes"])
    file = next((pinned.workshop.state / "contracts/weather").glob("*.mcpc.json"))
    file.write_text(text(contract(FORECAST, {**STATIONS, "description": "Other."})))
    done = pinned.run("accept", "weather", "--digest", found.digest)
    assert (done.code, "accept.other_bytes" in done.stdout) == (1, True)
    file.write_text(text(altered(found, server_id="other")))
    assert pinned.run("accept", "weather", "--digest", found.digest).code == 1
    assert pinned.pin.read_bytes() == before
    short = pinned.run("accept", "weather", "--digest", found.digest[:12], "--json")
    assert (short.code, short.json["error"]["code"]) == (2, "contract.digest")


@pytest.mark.promise("row 115")
@pytest.mark.parametrize("damage", ["", "{", '{"schema_version": 2}'])
def test_snapshot_that_cannot_be_read_is_not_replaced(kept: Kept, damage: str) -> None:
    pinned, found = kept
    pinned.pin.write_text(damage)
    done = pinned.run("accept", "weather", "--digest", found.digest, "--json")
    assert (done.code, done.json["verdict"]["codes"]) == (1, ["accept.baseline"])
    assert pinned.pin.read_text() == damage
    pinned.pin.unlink()
    assert pinned.run("accept", "weather", "--digest", found.digest).code == 0
    assert pinned.pin.read_text() == text(found)


@pytest.mark.promise("ahead 2")
def test_nothing_is_written_that_could_not_be_recorded(kept: Kept) -> None:
    pinned, found = kept
    before = pinned.pin.read_bytes()
    (pinned.workshop.state / "audit-trail.jsonl").mkdir()
    done = pinned.run("accept", "weather", "--digest", found.digest)
    assert (done.code, pinned.pin.read_bytes()) == (3, before)


def test_snapshot_that_cannot_be_written_is_recorded_as_failed(kept: Kept) -> None:
    pinned, found = kept
    folder = pinned.pin.parent
    if os.geteuid() == 0:
        pinned.patch.setattr("tipstaff.healing.pins.acceptance.write_atomically", _full)
    else:
        folder.chmod(0o500)
    done = pinned.run("accept", "weather", "--digest", found.digest, "--json")
    folder.chmod(0o700)
    assert (done.code, done.json["error"]["code"]) == (2, "file.unwritable")
    assert pinned.workshop.entries() == ["allow", "accepted", "failed"]


def _full(path: Path, data: bytes, *, mode: int) -> None:
    raise OSError(28, "No space left on device")


def test_four_eyes_ask_for_another_person_than_who_had_it_observed(kept: Kept) -> None:
    pinned, found = kept
    pinned.workshop.configure(approvals={"four_eyes": True})
    done = pinned.run("accept", "weather", "--digest", found.digest, "--json")
    assert (done.code, done.json["verdict"]["codes"]) == (1, ["accept.four_eyes"])
    other = keep(pinned, contract(STATIONS), Actor(id="bob@desk", type="human"))
    assert pinned.run("accept", "weather", "--digest", other.digest).code == 0


def test_hard_pause_stops_it(kept: Kept) -> None:
    pinned, found = kept
    pinned.workshop.configure(pause={"hard": True})
    assert pinned.workshop.run("pause", "--reason", "x").code == 0
    done = pinned.run("accept", "weather", "--digest", found.digest, "--json")
    assert (done.code, done.json["verdict"]["codes"]) == (1, ["accept.paused"])


@pytest.mark.promise("ahead 3")
def test_person_is_shown_what_is_hidden(kept: Kept) -> None:
    pinned, _ = kept
    found = keep(
        pinned, contract(FORECAST, {**STATIONS, "description": "All st\u0430tions.\u200b"})
    )
    done = pinned.run("accept", "weather", "--digest", found.digest)
    assert done.code == 0
    assert '"All st\\u0430tions.\\u200b"' in done.stdout
    assert "hidden_text" in done.stdout
    assert "\u200b" not in done.stdout
    assert "\u0430" not in done.stdout


def test_candidates_are_few_and_the_oldest_gives_way(kept: Kept) -> None:
    pinned, _ = kept
    for number in range(KEPT + 2):
        keep(pinned, contract({**FORECAST, "description": f"Number {number}."}))
    assert len(pinned.candidates()) == KEPT
    last = contract({**FORECAST, "description": f"Number {KEPT + 1}."})
    assert Candidates(pinned.workshop.state).find("weather", last.digest) is not None
