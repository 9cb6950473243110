"""Whatever is done to a trail, proving it says so and names where."""

from __future__ import annotations

import json
import random
import shutil
from pathlib import Path

import pytest
import rfc8785

from support.ledger_parts import note, trail
from support.trail_damage import rechained
from tipstaff.errors import EvidenceError
from tipstaff.ledger.trail import Trail, Verification

RECORDS = 30
EVERY = 10


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A trail of thirty records, witnessed at 1, 10, 11, 20, 21 and 30."""
    folder = tmp_path_factory.mktemp("sound")
    for start in range(0, RECORDS, EVERY):
        with trail(folder) as mine:
            mine.append(note(f"ü{start}"))
            for number in range(start + 1, start + EVERY):
                mine.append(note(f"record {number}", decision_id=f"d{number}"))
    assert trail(folder).verify() == Verification(RECORDS, ())
    return folder


@pytest.fixture
def damaged(sound: Path) -> Trail:
    """The same trail; what a test does to its file is undone by the next."""
    mine = trail(sound)
    good = sound.with_name("good.jsonl")
    if not good.exists():
        shutil.copy(mine.path, good)
    mine.path.write_bytes(good.read_bytes())
    return mine


def _first(mine: Trail) -> tuple[int, int, str]:
    problem = mine.verify().problems[0]
    return problem.line, problem.seq, problem.code


@pytest.mark.promise("L1", "row 87")
@pytest.mark.req("AU-03")
def test_one_changed_byte_is_found_at_its_line(damaged: Trail) -> None:
    lines = damaged.path.read_bytes().splitlines(keepends=True)
    lines[16] = lines[16].replace(b"record 16", b"record 17")
    damaged.path.write_bytes(b"".join(lines))
    assert _first(damaged) == (17, 17, "trail.altered")


@pytest.mark.promise("row 88")
@pytest.mark.req("AU-03")
def test_a_dropped_last_line_is_found(damaged: Trail) -> None:
    lines = damaged.path.read_bytes().splitlines(keepends=True)
    damaged.path.write_bytes(b"".join(lines[:-1]))
    assert _first(damaged) == (30, 30, "trail.truncated")


def test_three_hundred_bit_flips_are_each_found_at_their_line(damaged: Trail) -> None:
    data = damaged.path.read_bytes()
    dice = random.Random(3)
    for _ in range(300):
        offset, bit = dice.randrange(len(data)), dice.randrange(8)
        flipped = bytearray(data)
        flipped[offset] ^= 1 << bit
        damaged.path.write_bytes(flipped)
        line = data.count(b"\n", 0, offset) + 1
        assert _first(damaged)[:2] == (line, line), (offset, bit)


def test_a_hundred_structural_edits_are_each_found_at_their_line(damaged: Trail) -> None:
    lines = damaged.path.read_bytes().splitlines(keepends=True)
    dice = random.Random(4)
    for number in range(100):
        index = dice.randrange(RECORDS - 1)
        kind = ("delete", "duplicate", "swap", "rehash")[number % 4]
        edited, line = list(lines), index + 1
        if kind == "delete":
            del edited[index]
        elif kind == "duplicate":
            edited.insert(index, lines[index])
            line += 1
        elif kind == "swap":
            edited[index : index + 2] = [lines[index + 1], lines[index]]
        else:
            changed = lines[index].replace(b"skills/w", b"skills/x")
            edited[index] = rechained([*lines[:index], changed], index)[index]
        damaged.path.write_bytes(b"".join(edited))
        assert _first(damaged)[0] == line, (kind, index)


@pytest.mark.promise("L1", "row 88")
@pytest.mark.req("AU-03")
def test_a_rewritten_history_is_found_by_the_next_witnessed_record(damaged: Trail) -> None:
    lines = damaged.path.read_bytes().splitlines(keepends=True)
    witnessed = [1, 10, 11, 20, 21, 30]
    for index in range(RECORDS):
        changed = lines[index].replace(b"skills/w", b"skills/x")
        rewritten = rechained([*lines[:index], changed, *lines[index + 1 :]], index)
        damaged.path.write_bytes(b"".join(rewritten))
        expected = next(seq for seq in witnessed if seq > index)
        assert _first(damaged) == (expected, expected, "trail.rewritten")


@pytest.mark.promise("L1", "row 88", "ahead 20")
def test_a_cut_at_every_byte_of_the_last_three_records_is_found(damaged: Trail) -> None:
    data = damaged.path.read_bytes()
    starts = [0]
    for line in data.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    for size in range(starts[-4], len(data)):
        damaged.path.write_bytes(data[:size])
        line = data.count(b"\n", 0, size) + 1
        code = "trail.truncated" if size in starts else "trail.torn"
        result = damaged.verify()
        assert _first(damaged) == (line, line, code), size
        assert result.records == line - 1
        assert "trail.truncated" in {problem.code for problem in result.problems}


@pytest.mark.promise("row 88")
def test_an_emptied_or_missing_trail_is_found_missing(damaged: Trail) -> None:
    damaged.path.write_bytes(b"")
    assert _first(damaged) == (1, 1, "trail.missing")
    damaged.path.unlink()
    assert _first(damaged) == (1, 1, "trail.missing")


@pytest.mark.promise("row 88", "ahead 20")
def test_an_older_valid_file_put_back_is_found(damaged: Trail) -> None:
    lines = damaged.path.read_bytes().splitlines(keepends=True)
    for count in (1, 10, 20, 29):
        damaged.path.write_bytes(b"".join(lines[:count]))
        assert _first(damaged) == (count + 1, count + 1, "trail.truncated")


@pytest.mark.promise("row 89")
def test_the_valid_trail_of_another_project_is_found(damaged: Trail, tmp_path: Path) -> None:
    with trail(tmp_path) as other:
        other.append(*[note("other")] * 40)
    damaged.path.write_bytes(other.path.read_bytes())
    assert _first(damaged) == (1, 1, "trail.rewritten")


@pytest.mark.promise("BR-31")
@pytest.mark.parametrize(
    "content",
    [b"\n", b"{}\n", b"\x00" * 5000, b"null", b"[" * 100_000 + b"\n", "ÿ\n\n".encode("utf-16")],
)
def test_a_file_that_is_no_trail_is_a_failed_verification(damaged: Trail, content: bytes) -> None:
    damaged.path.write_bytes(content)
    assert _first(damaged)[:2] == (1, 1)


@pytest.mark.promise("row 87", "row 94")
def test_lines_inserted_by_hand_are_found(damaged: Trail) -> None:
    lines = damaged.path.read_bytes().splitlines(keepends=True)
    spaced = lines[4].replace(b'"action_class":', b'"action_class": ', 1)
    upside_down = b"{" + b",".join(lines[4][1:-2].split(b",")[::-1]) + b"}\n"
    for line in (b"\n", b"# a comment\n", spaced, upside_down):
        damaged.path.write_bytes(b"".join([*lines[:4], line, *lines[5:]]))
        assert _first(damaged)[:2] == (5, 5)


def test_records_chained_on_by_hand_are_held_to_the_model(damaged: Trail) -> None:
    lines = damaged.path.read_bytes().splitlines(keepends=True)
    value = {**json.loads(lines[-1]), "decision": "perhaps"}
    forged = rechained([*lines, rfc8785.dumps(value) + b"\n"], RECORDS)
    damaged.path.write_bytes(b"".join(forged))
    assert _first(damaged) == (31, 31, "trail.malformed")
    with pytest.raises(EvidenceError) as refused:
        damaged.append(note())
    assert (refused.value.code, refused.value.field) == ("trail.corrupt", "line 31")


def test_proving_a_trail_changes_nothing(damaged: Trail, sound: Path) -> None:
    damaged.path.write_bytes(damaged.path.read_bytes()[:-5])
    before = {path: path.read_bytes() for path in sound.rglob("*") if path.is_file()}
    damaged.verify()
    assert before == {path: path.read_bytes() for path in sound.rglob("*") if path.is_file()}
