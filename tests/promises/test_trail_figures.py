"""The trail under thousands of damages, many writers, and a million sound records."""

from __future__ import annotations

import hashlib
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from support.figures import dice, figure
from support.ledger_parts import note, trail
from support.trail_damage import EDITS, flipped, rechained, rehashed
from tipstaff.ledger import chain as chaining
from tipstaff.ledger import writer as writing
from tipstaff.ledger.checkpoint import Witness
from tipstaff.ledger.trail import Trail, Verification

TESTS = Path(__file__).parents[1]
RECORDS = 12
WITNESSED = (1, 4, 5, 8, 9, 12)
Record = Callable[[str, object], None]


@pytest.fixture
def sound(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Trail:
    """A trail of twelve records, the witness having seen 1, 4, 5, 8, 9 and 12."""
    monkeypatch.setattr(writing, "CHECKPOINT_SECONDS", 3600)
    for start in range(0, RECORDS, 4):
        with trail(tmp_path) as mine:
            mine.append(note(f"ü{start}"))
            for number in range(start + 1, start + 4):
                mine.append(note(f"record {number}", decision_id=f"d{number}"))
    assert mine.verify() == Verification(RECORDS, ())
    return mine


def first(mine: Trail, data: bytes) -> tuple[int, str]:
    """The line of the first problem of these bytes, and its code."""
    mine.path.write_bytes(data)
    problem = mine.verify().problems[0]
    return problem.line, problem.code


@pytest.mark.promise("L1", "row 87")
@figure("flips", commit=300, full=20_000)
def test_every_flipped_bit_is_found_at_its_line(
    sound: Trail, flips: int, record_property: Record
) -> None:
    data, chance = sound.path.read_bytes(), dice()
    for _ in range(flips):
        changed, line = flipped(data, chance)
        assert first(sound, changed)[0] == line
    record_property("L1", f"{flips:,} of {flips:,} bit flips found at their line")


@pytest.mark.promise("L1", "row 87", "L3")
@figure("edits", commit=105, full=2_000)
def test_every_structural_edit_is_found_at_its_line(
    sound: Trail, edits: int, record_property: Record
) -> None:
    lines, chance = sound.path.read_bytes().splitlines(keepends=True), dice()
    for number in range(edits):
        name = list(EDITS)[number % len(EDITS)]
        edited, line = EDITS[name](lines, chance.randrange(RECORDS - 1))
        assert first(sound, b"".join(edited))[0] == line, name
    record_property("L1", f"{edits:,} of {edits:,} structural edits found at their line")


@pytest.mark.promise("L1", "row 88")
@figure("rewrites", commit=24, full=200)
def test_every_rewritten_history_is_found_by_the_next_witnessed_record(
    sound: Trail, rewrites: int, record_property: Record
) -> None:
    lines, chance = sound.path.read_bytes().splitlines(keepends=True), dice()
    for _ in range(rewrites):
        index = chance.randrange(RECORDS)
        changed = rehashed(lines[index], target=f"forged {chance.random()}")
        forged = rechained([*lines[:index], changed, *lines[index + 1 :]], index)
        seen = next(seq for seq in WITNESSED if seq > index)
        assert first(sound, b"".join(forged)) == (seen, "trail.rewritten")
    record_property("L1", f"{rewrites:,} of {rewrites:,} rewritten histories found")


@pytest.mark.promise("L1", "row 88", "ahead 20")
@figure("cuts", commit=60, full=500)
def test_every_cut_tail_is_found(sound: Trail, cuts: int, record_property: Record) -> None:
    data, chance = sound.path.read_bytes(), dice()
    for _ in range(cuts):
        size = chance.randrange(len(data))
        line, code = first(sound, data[:size])
        assert line == data.count(b"\n", 0, size) + 1
        assert code in ("trail.truncated", "trail.torn", "trail.missing")
        assert sound.verify().records == line - 1
    record_property("L1", f"{cuts:,} of {cuts:,} cut tails found")


@pytest.mark.promise("L3", "BR-31")
@figure("forgeries", commit=40, full=500)
def test_every_forged_link_in_the_middle_is_found(
    sound: Trail, forgeries: int, record_property: Record
) -> None:
    lines, chance = sound.path.read_bytes().splitlines(keepends=True), dice()
    for number in range(forgeries):
        index = chance.randrange(1, RECORDS - 1)
        other = hashlib.sha256(str(chance.random()).encode()).hexdigest()
        how = {"prev": other} if number % 2 else {"target": other}
        forged = rehashed(lines[index], **how)
        middle = b"".join([*lines[:index], forged, *lines[index + 1 :]])
        assert first(sound, middle)[0] == index + 1
    record_property("L3", f"{forgeries:,} of {forgeries:,} forged middle links found")


@pytest.mark.promise("L2", "BR-31")
def test_witness_hears_of_the_head_each_minute_and_each_thousand_records(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert writing.CHECKPOINT_SECONDS <= 60
    assert writing.CHECKPOINT_RECORDS <= 1000
    now = [1000.0]
    monkeypatch.setattr(writing.time, "monotonic", lambda: now[0])
    mine = trail(tmp_path)
    witness = mine._writer._witness
    ages, counts = [], []
    signed_at, signed_seq = now[0], 0
    mine.append(note())
    for step in range(21):
        now[0] += (step % 7) * 1.5
        mine.append(*[note()] * (1 + 97 * (step % 5)))
        last = witness.latest(mine._writer._trail)
        assert last is not None
        if last.seq != signed_seq:
            signed_at, signed_seq = now[0], last.seq
        ages.append(now[0] - signed_at)
        counts.append(mine._writer._head.seq - last.seq)
    assert max(ages) < 60
    assert max(counts) <= 1000
    mine.close()


@pytest.mark.promise("L2", "row 88")
@figure("splits", commit=5, full=100)
def test_every_split_view_is_found(tmp_path: Path, splits: int, record_property: Record) -> None:
    chance = dice()
    for number in range(splits):
        place = tmp_path / str(number)
        with trail(place) as mine:
            mine.append(*[note(str(place)) for place in range(chance.randrange(1, 6))])
        shutil.copytree(place / "state", place / "copy")
        views = [Trail(place / name, witness=place / "witness") for name in ("state", "copy")]
        chance.shuffle(views)
        with views[0] as one:
            one.append(*[note("one view")] * chance.randrange(1, 4))
        lines = views[0].path.read_bytes().splitlines(keepends=True)
        shorter = views[1].path.read_bytes().splitlines(keepends=True)
        other = rehashed(lines[len(shorter)], target="another view")
        grown = [*shorter, *rechained([*shorter, other, *lines[len(shorter) + 1 :]], len(shorter))]
        views[1].path.write_bytes(b"".join(grown[len(shorter) :]))
        codes = {problem.code for problem in views[1].verify().problems}
        assert codes & {"trail.rewritten", "trail.truncated"}, number
        assert views[0].verify().is_valid
        shutil.rmtree(place)
    record_property("L2", f"{splits} of {splits} split views found")


@pytest.mark.promise("L4", "row 90", "BR-31")
@figure("size", commit=(1, 8, 30), full=(5, 16, 1_000))
def test_writers_of_which_some_are_killed_make_one_chain(
    tmp_path: Path, size: tuple[int, int, int], record_property: Record
) -> None:
    rounds, writers, records = size
    chance, kept, kills = dice(), 0, 0
    for turn in range(rounds):
        place = tmp_path / str(turn)
        running = [_writer(place, str(number), records) for number in range(writers)]
        told: set[str] = set()
        for doomed in chance.sample(running, 4):
            assert doomed.stdout is not None
            for _ in range(chance.randrange(1, records // 2)):
                told.add(doomed.stdout.readline().strip())
            doomed.send_signal(signal.SIGKILL)
            kills += 1
        for one in running:
            # With a timeout this would pass by what was read ahead, and begin within a line.
            output, _ = one.communicate()
            told |= set(output.split("\n")[:-1])
        with trail(place) as mine:
            mine.append(note("after all"))
        result = mine.verify()
        assert result.problems == ()
        notes = [record.detail.get("note", "") for record in mine.records()]
        assert told <= set(notes)
        assert len(notes) == result.records
        kept += len(told)
    record_property(
        "L4",
        f"{rounds} rounds of {writers} by {records:,} with {kills} kills: {kept:,} acknowledged, "
        "0 lost, no fork, no gap",
    )


def _writer(folder: Path, name: str, records: int) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "support.trail_writer", str(folder), name, str(records)]
    return subprocess.Popen([*command, "close"], cwd=TESTS, stdout=subprocess.PIPE, text=True)


@pytest.mark.promise("L6", "row 91", "BR-31", "ahead 20")
@figure("step", commit=9, full=1)
def test_crash_at_an_offset_of_the_last_three_records_costs_no_whole_one(
    sound: Trail, tmp_path: Path, step: int, record_property: Record
) -> None:
    shutil.copytree(tmp_path / "witness", tmp_path / "then")
    before = sound.path.read_bytes()
    with trail(tmp_path) as mine:
        mine.append(note("1"), note("2"), note("3"))
    data, offsets = mine.path.read_bytes(), 0
    ends = [place for place in range(len(before), len(data)) if data[place] == ord("\n")]
    for size in sorted({*range(len(before), len(data), step), *ends}):
        mine.path.write_bytes(data[:size])
        shutil.rmtree(tmp_path / "witness")
        shutil.copytree(tmp_path / "then", tmp_path / "witness")
        torn = size - data.rfind(b"\n", 0, size) - 1
        lacks_only_its_end = bool(torn) and data[size : size + 1] == b"\n"
        with trail(tmp_path) as again:
            again.append(note("next"))
        assert again.path.read_bytes().startswith(data[:size])
        assert again.verify().problems == (), size
        kept = list(again.records())
        whole = data.count(b"\n", 0, size) + lacks_only_its_end
        assert len(kept) == whole + 1 + bool(torn)
        told = [record.detail for record in kept if record.decision == "torn-tail"]
        assert [detail["bytes"] for detail in told] == ([torn] if torn else [])
        assert [detail.get("complete", False) for detail in told] == [lacks_only_its_end] * len(
            told
        )
        offsets += 1
    record_property("L6", f"{offsets:,} cut offsets in the last 3 records, each recovered and told")


@pytest.mark.promise("L1", "L9")
@figure("records", commit=3_000, full=1_000_000)
def test_sound_trail_raises_no_alarm_and_is_proven_quickly(
    tmp_path: Path, records: int, record_property: Record
) -> None:
    with trail(tmp_path) as mine:
        for _ in range(records // 1000):
            mine.append(*[note("seen", decision_id="d")] * 1000)
    began = time.process_time()
    result = mine.verify()
    took = time.process_time() - began
    assert result == Verification(records, ())
    began = time.process_time()
    with mine.path.open("rb") as file:
        for line in file:
            hashlib.sha256(line).digest()
    bare = time.process_time() - began
    size = os.path.getsize(mine.path) / records
    record_property(
        "L9",
        f"{records:,} records of {size:.0f} bytes, 0 alarms, {records / took:,.0f} a second of "
        f"processor time; {took / bare:.1f} times reading and hashing the lines",
    )


@pytest.mark.promise("L9")
def test_proving_looks_at_each_line_once_and_checks_one_signature(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for _ in range(5):
        with trail(tmp_path) as mine:
            mine.append(*[note()] * 20)
    looks: list[object] = []
    for owner, name in ((chaining, "read_link"), (Witness, "is_signed")):
        real = getattr(owner, name)
        counted = lambda *given, real=real, name=name: looks.append(name) or real(*given)  # noqa: E731
        monkeypatch.setattr(owner, name, counted)
    assert mine.verify() == Verification(100, ())
    assert (looks.count("read_link"), looks.count("is_signed")) == (100, 1)
