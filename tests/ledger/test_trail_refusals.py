"""Where a record can't be kept or trusted, ``append`` refuses, and nothing half done remains."""

from __future__ import annotations

import errno
import json
import os
import resource
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from support.ledger_parts import note, trail
from tipstaff.errors import EvidenceError
from tipstaff.ledger.trail import Trail

TESTS = Path(__file__).parents[1]


def _refusal(mine: Trail) -> str:
    with pytest.raises(EvidenceError) as refused:
        mine.append(note("refused"))
    assert refused.value.exit_code == 3
    assert refused.value.fix
    return refused.value.code


FILL = """
import sys
from pathlib import Path
from support.ledger_parts import note, trail
from tipstaff.errors import EvidenceError
folder, applied = Path(sys.argv[1]), Path(sys.argv[2])
mine = trail(folder)
for number in range(10_000):
    try:
        mine.append(note("x" * 3000))
    except EvidenceError as error:
        print(error.code, number)
        break
    applied.write_text(str(number))
result = mine.verify()
print(result.records, [problem.code for problem in result.problems])
"""


@pytest.mark.promise("L5", "row 92")
@pytest.mark.req("AU-04")
def test_a_full_disk_blocks_the_effect_and_leaves_whole_records(tmp_path: Path) -> None:
    place, witness = tmp_path / "full", tmp_path / "witness"
    (place / "state").mkdir(parents=True)
    become = [] if os.geteuid() == 0 else ["--map-root-user"]
    mount = 'mount -t tmpfs -o size=256k none "$1/state" && ln -s "$2" "$1/witness" && shift 2 &&'
    shell = ["unshare", "--mount", *become, "sh", "-c", mount + ' exec "$@"', "sh"]
    probe = subprocess.run(
        [*shell, str(place), str(witness), "true"], capture_output=True, check=False
    )
    if probe.returncode != 0:
        pytest.skip(f"no mount namespace here: {probe.stderr.decode()}")
    (place / "witness").unlink()
    witness.mkdir()
    program = [sys.executable, "-c", FILL, str(place), str(tmp_path / "applied")]
    run = subprocess.run(
        [*shell, str(place), str(witness), *program],
        cwd=TESTS,
        capture_output=True,
        text=True,
        check=True,
    )
    refused, proved = run.stdout.splitlines()
    code, number = refused.split()
    assert code == "trail.unwritable"
    assert int((tmp_path / "applied").read_text()) == int(number) - 1
    assert proved == f"{number} []"


@pytest.mark.promise("L5", "row 92")
@pytest.mark.req("AU-04")
def test_a_short_write_is_taken_back(tmp_path: Path) -> None:
    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, 50_000))

    applied = tmp_path / "applied"
    run = subprocess.run(
        [sys.executable, "-c", FILL, str(tmp_path), str(applied)],
        cwd=TESTS,
        capture_output=True,
        text=True,
        preexec_fn=limit,
        check=True,
    )
    refused, proved = run.stdout.splitlines()
    code, number = refused.split()
    assert code == "trail.unwritable"
    assert int(applied.read_text()) == int(number) - 1
    assert proved == f"{number} []"
    assert (tmp_path / "state" / "audit-trail.jsonl").read_bytes().endswith(b"}\n")


@pytest.mark.promise("L5", "row 92")
def test_a_failed_sync_is_taken_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with trail(tmp_path) as mine:
        mine.append(note("1"))
        before = mine.path.read_bytes()
        real = os.fsync
        calls = []

        def failing(descriptor: int) -> None:
            calls.append(descriptor)
            if len(calls) == 1:
                raise OSError(errno.EIO, "Input/output error")
            real(descriptor)

        with monkeypatch.context() as patch:
            patch.setattr("tipstaff.ledger.writer.os.fsync", failing)
            assert _refusal(mine) == "trail.unwritable"
        assert mine.path.read_bytes() == before
        mine.append(note("2"))
        assert mine.verify().problems == ()


def test_what_cannot_be_taken_back_is_isolated_by_the_next_record(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with trail(tmp_path) as mine:
        mine.append(note("1"))

        def refuse(*_: object) -> None:
            raise OSError(errno.EIO, "Input/output error")

        real = os.write
        with monkeypatch.context() as patch:
            patch.setattr("tipstaff.ledger.writer.os.ftruncate", refuse)
            patch.setattr("tipstaff.ledger.writer.os.write", lambda fd, data: real(fd, data[:100]))
            assert _refusal(mine) == "trail.unwritable"
        assert [problem.code for problem in mine.verify().problems] == ["trail.torn"]
        mine.append(note("2"))
        assert [record.decision for record in mine.records()][1] == "torn-tail"
        assert mine.verify().problems == ()


def test_places_that_take_no_file_are_refused(tmp_path: Path) -> None:
    (tmp_path / "state").write_text("a file")
    assert _refusal(trail(tmp_path)) == "trail.unwritable"
    for kind in ("folder", "link", "fifo"):
        place = tmp_path / kind
        file = place / "state" / "audit-trail.jsonl"
        file.parent.mkdir(parents=True)
        if kind == "folder":
            file.mkdir()
        elif kind == "link":
            file.symlink_to(tmp_path / "elsewhere")
        else:
            os.mkfifo(file)
        assert _refusal(trail(place)) == "trail.unwritable"
    assert not (tmp_path / "elsewhere").exists()


def test_an_unwritable_witness_blocks_the_first_record(tmp_path: Path) -> None:
    (tmp_path / "witness").write_text("a file")
    mine = trail(tmp_path)
    assert _refusal(mine) == "trail.unwritable"
    assert mine.path.read_bytes() == b""


@pytest.mark.promise("row 88", "row 89")
@pytest.mark.parametrize("fresh", [True, False])
def test_a_head_older_than_the_checkpoint_is_never_signed(tmp_path: Path, fresh: bool) -> None:
    mine = trail(tmp_path)
    mine.append(note("1"), note("2"), note("3"))
    lines = mine.path.read_bytes().splitlines(keepends=True)
    witnessed = (tmp_path / "witness").glob("*.json")
    before = {path: path.read_bytes() for path in witnessed}
    for left in (2, 1, 0):
        mine.path.write_bytes(b"".join(lines[:left]))
        assert _refusal(trail(tmp_path) if fresh else mine) == "trail.rolled_back"
    mine.path.unlink()
    assert _refusal(trail(tmp_path) if fresh else mine) == "trail.rolled_back"
    assert before == {path: path.read_bytes() for path in before}


def test_a_trail_without_the_witnessed_record_is_never_signed(tmp_path: Path) -> None:
    with trail(tmp_path / "other") as other:
        other.append(*[note("other")] * 9)
    mine = trail(tmp_path)
    mine.append(note("1"))
    mine.path.write_bytes(other.path.read_bytes())
    assert _refusal(mine) == "trail.corrupt"
    assert _refusal(trail(tmp_path)) == "trail.rewritten"


def test_a_copy_of_a_project_cannot_carry_on_the_same_trail(tmp_path: Path) -> None:
    with trail(tmp_path) as mine:
        mine.append(note("1"))
    shutil.copytree(tmp_path / "state", tmp_path / "copy" / "state")
    mine = Trail(tmp_path / "state", witness=tmp_path / "witness")
    mine.append(note("2"))
    copy = Trail(tmp_path / "copy" / "state", witness=tmp_path / "witness")
    assert _refusal(copy) == "trail.rolled_back"
    assert [problem.code for problem in copy.verify().problems] == ["trail.truncated"]
    assert mine.verify().problems == ()


def test_a_swapped_id_is_found_and_refused(tmp_path: Path) -> None:
    with trail(tmp_path) as mine:
        mine.append(note("1"), note("2"))
    (tmp_path / "state" / "audit-trail.id").write_text("0" * 32 + "\n")
    assert [problem.code for problem in mine.verify().problems] == ["trail.swapped"]
    mine.path.write_bytes(b"")
    codes = [problem.code for problem in mine.verify().problems]
    assert codes == ["trail.missing", "trail.swapped"]
    assert _refusal(trail(tmp_path)) == "trail.swapped"
    (tmp_path / "state" / "audit-trail.id").unlink()
    assert _refusal(trail(tmp_path)) == "trail.rolled_back"


def test_a_state_folder_without_its_witness_is_found_and_refused(tmp_path: Path) -> None:
    with trail(tmp_path) as mine:
        mine.append(note("1"))
    shutil.rmtree(tmp_path / "witness")
    assert [problem.code for problem in mine.verify().problems] == ["checkpoint.missing"]
    assert _refusal(trail(tmp_path)) == "trail.unwitnessed"
    (tmp_path / "state" / "audit-trail.id").unlink()
    codes = [problem.code for problem in mine.verify().problems]
    assert codes == ["trail.unnamed", "checkpoint.missing"]
    assert _refusal(trail(tmp_path)) == "trail.unwitnessed"


@pytest.mark.promise("row 89")
def test_an_altered_checkpoint_is_found_and_refused(tmp_path: Path) -> None:
    with trail(tmp_path) as mine:
        mine.append(note("1"))
        mine.append(note("2"))
    name = (tmp_path / "state" / "audit-trail.id").read_text().strip()
    file = tmp_path / "witness" / f"{name}.json"
    good = json.loads(file.read_bytes())
    changes = [{"seq": 1}, {"hash": "0" * 64}, {"trail": "0" * 32}, {"signature": "00"}, {"x": 1}]
    for change in changes:
        file.write_text(json.dumps({**good, **change}))
        assert [problem.code for problem in mine.verify().problems] == ["checkpoint.altered"]
        assert _refusal(trail(tmp_path)) == "checkpoint.altered"
    file.unlink()
    assert [problem.code for problem in mine.verify().problems] == ["checkpoint.missing"]
    assert _refusal(trail(tmp_path)) == "trail.unwitnessed"


@pytest.mark.promise("row 92")
def test_a_lost_witness_key_is_never_replaced_quietly(tmp_path: Path) -> None:
    with trail(tmp_path) as mine:
        mine.append(note("1"))
    (tmp_path / "witness" / "key.pem").unlink()
    assert [problem.code for problem in trail(tmp_path).verify().problems] == ["checkpoint.altered"]
    assert _refusal(trail(tmp_path)) == "checkpoint.altered"
    other = Trail(tmp_path / "second", witness=tmp_path / "witness")
    assert _refusal(other) == "checkpoint.altered"


@pytest.mark.promise("L2")
def test_copies_of_a_trail_that_part_are_told_by_the_witness(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tipstaff.ledger.writer.CHECKPOINT_SECONDS", 0)
    mine = trail(tmp_path)
    mine.append(note("1"))
    shutil.copytree(tmp_path / "state", tmp_path / "copy")
    with Trail(tmp_path / "copy", witness=tmp_path / "witness") as copy:
        copy.append(note("2 of the copy"))
    assert _refusal(mine) == "trail.rewritten"
    assert [problem.code for problem in mine.verify().problems] == ["trail.rewritten"]
    assert copy.verify().problems == ()
