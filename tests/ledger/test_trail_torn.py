"""A record that a crash left half written: isolated, told of, and never fused with the next."""

from __future__ import annotations

import hashlib
import shutil
from pathlib import Path

import pytest

from support.ledger_parts import note, trail
from tipstaff.errors import EvidenceError


def _crashed(folder: Path) -> tuple[bytes, list[int]]:
    """A trail of six records of which the witness saw three; its bytes and where lines begin."""
    with trail(folder) as mine:
        mine.append(note("1"), note("2"), note("3"))
    shutil.copytree(folder / "witness", folder / "then")
    with trail(folder) as mine:
        mine.append(note("4"), note("5"), note("6"))
    data = mine.path.read_bytes()
    starts = [0]
    for line in data.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    return data, starts


def _restore(folder: Path, data: bytes) -> None:
    """The file as a crash left it, and the witness as it was then."""
    (folder / "state" / "audit-trail.jsonl").write_bytes(data)
    for path in (folder / "then").iterdir():
        if path.is_file():
            shutil.copyfile(path, folder / "witness" / path.name)


@pytest.mark.promise("L6", "row 91", "BR-31", "ahead 20")
def test_a_crash_at_every_byte_of_the_last_three_records_is_recovered(tmp_path: Path) -> None:
    data, starts = _crashed(tmp_path)
    for size in range(starts[3], len(data), 3):
        _restore(tmp_path, data[:size])
        whole = data[: data.rfind(b"\n", 0, size) + 1]
        torn = data[len(whole) : size]
        with trail(tmp_path) as mine:
            [record] = mine.append(note("next"))
        assert mine.path.read_bytes().startswith(data[:size])
        assert mine.verify().problems == (), size
        kept = list(mine.records())
        assert kept[-1] == record
        if torn:
            expected = {
                "bytes": len(torn),
                "line": whole.count(b"\n") + 1,
                "sha256": hashlib.sha256(torn).hexdigest(),
            }
            assert kept[-2].decision == "torn-tail"
            assert {**kept[-2].detail, **expected} == kept[-2].detail


@pytest.mark.promise("L6")
def test_a_whole_record_without_its_newline_is_kept_as_a_record(tmp_path: Path) -> None:
    data, starts = _crashed(tmp_path)
    _restore(tmp_path, data[: starts[5] - 1])
    with trail(tmp_path) as mine:
        mine.append(note("next"))
    assert [record.detail.get("note") for record in mine.records()] == [
        *"12345",
        None,
        "next",
    ]
    assert list(mine.records())[-2].detail["complete"] is True
    assert mine.verify().problems == ()


@pytest.mark.promise("BR-31")
def test_a_crash_while_a_torn_tail_is_isolated_is_recovered_too(tmp_path: Path) -> None:
    data, starts = _crashed(tmp_path)
    cut = starts[4] + 40
    _restore(tmp_path, data[:cut])
    with trail(tmp_path) as mine:
        mine.append(note("next"))
    repaired = mine.path.read_bytes()
    for size in range(cut + 2, len(repaired), 7):
        _restore(tmp_path, repaired[:size])
        with trail(tmp_path) as mine:
            mine.append(note("after"))
        assert mine.verify().problems == (), size
        assert [record.detail.get("note") for record in mine.records()][:4] == [*"1234"]


def test_torn_bytes_without_the_record_that_tells_of_them_are_found(tmp_path: Path) -> None:
    data, starts = _crashed(tmp_path)
    _restore(tmp_path, data[: starts[4] + 40])
    with trail(tmp_path) as mine:
        mine.append(note("next"))
    repaired = mine.path.read_bytes()
    for old, new in ((b'{"action', b'{"Action'), (b'"bytes":40', b'"bytes":41')):
        at = repaired.index(old, starts[4])
        changed = repaired[:at] + new + repaired[at + len(new) :]
        mine.path.write_bytes(changed)
        assert mine.verify().problems[0].line == 5
    mine.path.write_bytes(
        repaired[: starts[4] + 41] + repaired[starts[4] + 41 :].split(b"\n", 1)[1]
    )
    assert mine.verify().problems[0].line == 5


def test_a_damaged_last_line_takes_no_further_records(tmp_path: Path) -> None:
    with trail(tmp_path) as mine:
        mine.append(note("1"), note("2"))
    good = mine.path.read_bytes()
    for bad in (good[:-3] + b"x}\n", good + b"junk\n", good + b"\n"):
        mine.path.write_bytes(bad)
        for writer in (mine, trail(tmp_path)):
            with pytest.raises(EvidenceError) as refused:
                writer.append(note("3"))
            assert refused.value.code in ("trail.corrupt", "trail.rolled_back", "trail.rewritten")
            assert refused.value.exit_code == 3
        assert mine.path.read_bytes() == bad
