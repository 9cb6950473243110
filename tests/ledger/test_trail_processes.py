"""Many writers, writers that are killed, and writers that forget to close."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from support.ledger_parts import note, trail

TESTS = Path(__file__).parents[1]


def _writer(folder: Path, name: str, records: int, ending: str = "close") -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "support.trail_writer", str(folder), name, str(records)]
    return subprocess.Popen([*command, ending], cwd=TESTS, stdout=subprocess.PIPE, text=True)


def _told(writer: subprocess.Popen[str]) -> set[str]:
    # With a timeout this would pass by what was read ahead, and begin within a line.
    output, _ = writer.communicate()
    return set(output.split("\n")[:-1])


def _notes(folder: Path) -> list[str]:
    return [record.detail.get("note", "") for record in trail(folder).records()]


@pytest.mark.promise("L4", "row 90")
@pytest.mark.req("AU-03")
def test_eight_writers_of_200_records_leave_1600_valid_ones(tmp_path: Path) -> None:
    writers = [_writer(tmp_path, str(name), 200) for name in range(8)]
    told = set().union(*map(_told, writers))
    assert [writer.returncode for writer in writers] == [0] * 8
    result = trail(tmp_path).verify()
    assert (result.records, result.problems) == (1600, ())
    assert set(_notes(tmp_path)) == told
    assert len(told) == 1600


@pytest.mark.promise("L4", "BR-31")
def test_killed_writers_leave_every_acknowledged_record(tmp_path: Path) -> None:
    dice = random.Random(5)
    told: set[str] = set()
    for turn in range(4):
        writers = [_writer(tmp_path, f"{turn}.{name}", 0) for name in range(3)]
        assert writers[0].stdout is not None
        told.add(writers[0].stdout.readline().strip())
        time.sleep(dice.uniform(0.0, 0.4))
        for writer in writers:
            writer.kill()
        for writer in writers:
            told |= _told(writer)
    result = trail(tmp_path).verify()
    assert {problem.code for problem in result.problems} <= {"trail.torn"}
    with trail(tmp_path) as mine:
        mine.append(note("after all"))
    result = trail(tmp_path).verify()
    assert result.problems == ()
    notes = _notes(tmp_path)
    assert told <= set(notes)
    assert len(notes) == result.records


def test_a_killed_writers_tail_is_witnessed_by_the_next_one(tmp_path: Path) -> None:
    writer = _writer(tmp_path, "w", 0)
    assert writer.stdout is not None
    for _ in range(50):
        writer.stdout.readline()
    writer.kill()
    writer.communicate()
    mine = trail(tmp_path)
    mine.append(note("next"))
    lines = mine.path.read_bytes().splitlines(keepends=True)
    mine.path.write_bytes(b"".join(lines[:-1]))
    assert mine.verify().problems[0].code == "trail.truncated"


def test_an_interpreter_that_ends_without_close_leaves_a_checkpoint(tmp_path: Path) -> None:
    writer = _writer(tmp_path, "w", 5, "leave")
    _told(writer)
    mine = trail(tmp_path)
    lines = mine.path.read_bytes().splitlines(keepends=True)
    mine.path.write_bytes(b"".join(lines[:4]))
    [problem] = mine.verify().problems
    assert (problem.line, problem.code) == (5, "trail.truncated")


@pytest.mark.promise("L2")
def test_a_thousand_records_are_witnessed_without_waiting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tipstaff.ledger.writer.CHECKPOINT_SECONDS", 3600)
    mine = trail(tmp_path)
    mine.append(note())
    for _ in range(3):
        mine.append(*[note()] * 333)
    data = mine.path.read_bytes()
    mine.path.write_bytes(data.split(b"\n")[0] + b"\n")
    assert mine.verify().problems == ()
    mine.path.write_bytes(data)
    mine.append(note("one more"))
    mine.path.write_bytes(data)
    [problem] = mine.verify().problems
    assert (problem.line, problem.code) == (1001, "trail.truncated")


@pytest.mark.promise("row 90")
def test_threads_and_forked_children_may_share_one_trail(tmp_path: Path) -> None:
    with trail(tmp_path) as mine:
        mine.append(note("parent"))

        def work() -> None:
            for _ in range(20):
                mine.append(note("thread"))

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        child = os.fork()
        if child == 0:
            try:
                mine.append(*[note("child")] * 20)
            finally:
                os._exit(0)
        mine.append(*[note("parent")] * 20)
        os.waitpid(child, 0)
        mine.append(note("parent"))
    result = trail(tmp_path).verify()
    assert (result.records, result.problems) == (122, ())


def test_proving_while_others_write_sees_a_sound_trail(tmp_path: Path) -> None:
    writer = _writer(tmp_path, "w", 0)
    assert writer.stdout is not None
    writer.stdout.readline()
    mine = trail(tmp_path)
    results = [mine.verify() for _ in range(100)]
    writer.kill()
    writer.communicate()
    assert {result.problems for result in results} == {()}
    assert results[-1].records > results[0].records
