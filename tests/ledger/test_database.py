"""The database is private, durable, and refuses what it can't trust."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from tipstaff.errors import EvidenceError
from tipstaff.ledger import database
from tipstaff.ledger.database import has_fixed_wal, open_database, reading, writing

CHANGE = (
    "INSERT INTO changes VALUES ('c1', 'audit', 'allow', 'b', '" + "0" * 64 + "', '[]',"
    " NULL, NULL, NULL, {approval}, '{state}', '2026-01-01T00:00:00Z')"
)


def _code(state: Path) -> str:
    with pytest.raises(EvidenceError) as refused:
        open_database(state)
    assert refused.value.exit_code == 3
    return refused.value.code


def test_the_file_is_closed_to_others(tmp_path: Path) -> None:
    file = tmp_path / "state" / "ledger.sqlite3"
    file.parent.mkdir()
    file.touch(0o666)
    file.chmod(0o666)
    engine = open_database(tmp_path / "state")
    with writing(engine) as connection:
        connection.exec_driver_sql(CHANGE.format(approval="NULL", state="judged"))
        journal = file.with_name("ledger.sqlite3-journal")
        assert journal.stat().st_mode & 0o777 == 0o600
    assert file.stat().st_mode & 0o777 == 0o600


def test_each_connection_has_the_strong_settings(tmp_path: Path) -> None:
    engine = open_database(tmp_path)
    with reading(engine) as connection:
        answers = {
            name: connection.exec_driver_sql(f"PRAGMA {name}").scalar_one()
            for name in ("synchronous", "foreign_keys", "journal_mode", "user_version")
        }
    fixed = has_fixed_wal(sqlite3.sqlite_version_info)
    assert answers == {
        "synchronous": 2,
        "foreign_keys": 1,
        "journal_mode": "wal" if fixed else "delete",
        "user_version": 3,
    }


@pytest.mark.parametrize(
    ("version", "fixed"),
    [
        ((3, 40, 1), False),
        ((3, 44, 5), False),
        ((3, 44, 6), True),
        ((3, 45, 0), False),
        ((3, 50, 6), False),
        ((3, 50, 7), True),
        ((3, 51, 2), False),
        ((3, 51, 3), True),
        ((3, 52, 0), True),
        ((4, 0, 0), True),
    ],
)
def test_the_write_ahead_log_is_used_on_a_fixed_version_only(
    version: tuple[int, ...], fixed: bool
) -> None:
    assert has_fixed_wal(version) is fixed


def test_a_journal_that_cannot_be_made_strong_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "BUSY_TIMEOUT_MS", 50)
    open_database(tmp_path)
    wanted = database.journal_mode()
    monkeypatch.setattr(database, "journal_mode", lambda: "off")
    open_database(tmp_path)
    monkeypatch.setattr(database, "journal_mode", lambda: "absent")
    assert _code(tmp_path) == "store.weak"
    monkeypatch.setattr(database, "journal_mode", lambda: "delete")
    other = sqlite3.connect(tmp_path / "ledger.sqlite3")
    other.execute("PRAGMA journal_mode = wal")
    other.execute("SELECT count(*) FROM changes").fetchone()
    assert _code(tmp_path) in ("store.weak", "store.locked")
    other.close()
    monkeypatch.setattr(database, "journal_mode", lambda: wanted)
    open_database(tmp_path)


def test_a_ledger_of_the_first_schema_gains_what_is_new_and_keeps_what_it_has(
    tmp_path: Path,
) -> None:
    open_database(tmp_path)
    with sqlite3.connect(tmp_path / "ledger.sqlite3") as other:
        other.execute("DROP TABLE approvals")
        other.execute("DROP TABLE tokens")
        other.execute(
            "INSERT INTO changes (id, action_class, effect, base, diff_sha256, files, state, created_at)"
            f" VALUES ('c', 'audit', 'allow', 'b', '{'a' * 64}', '[]', 'judged', 'now')"
        )
        other.execute("PRAGMA user_version = 1")
    other.close()
    open_database(tmp_path)
    with sqlite3.connect(tmp_path / "ledger.sqlite3") as other:
        assert other.execute("SELECT id FROM changes").fetchall() == [("c",)]
        assert other.execute("SELECT * FROM approvals").fetchall() == []
        assert other.execute("SELECT * FROM tokens").fetchall() == []
        assert other.execute("PRAGMA user_version").fetchone() == (3,)
    other.close()


def test_a_later_schema_is_refused(tmp_path: Path) -> None:
    open_database(tmp_path)
    with sqlite3.connect(tmp_path / "ledger.sqlite3") as other:
        other.execute("PRAGMA user_version = 4")
    other.close()
    assert _code(tmp_path) == "store.newer"


def test_a_database_of_another_program_is_refused(tmp_path: Path) -> None:
    other = sqlite3.connect(tmp_path / "ledger.sqlite3")
    other.execute("CREATE TABLE cookies (value)")
    other.close()
    assert _code(tmp_path) == "store.corrupt"


def test_a_file_that_is_no_database_is_corrupt(tmp_path: Path) -> None:
    (tmp_path / "ledger.sqlite3").write_bytes(b"not a database" * 500)
    assert _code(tmp_path) == "store.corrupt"


def test_damaged_pages_are_corrupt(tmp_path: Path) -> None:
    engine = open_database(tmp_path)
    file = tmp_path / "ledger.sqlite3"
    data = bytearray(file.read_bytes())
    data[4096:] = os.urandom(len(data) - 4096)
    file.write_bytes(data)
    with pytest.raises(EvidenceError) as refused, reading(engine) as connection:
        connection.exec_driver_sql("SELECT * FROM approvals").all()
    assert refused.value.code == "store.corrupt"


def test_places_that_take_no_file_are_unreadable(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert _code(tmp_path / "file") == "store.unreadable"
    (tmp_path / "link").mkdir()
    (tmp_path / "link" / "ledger.sqlite3").symlink_to(tmp_path / "elsewhere")
    assert _code(tmp_path / "link") == "store.unreadable"
    (tmp_path / "folder" / "ledger.sqlite3").mkdir(parents=True)
    assert _code(tmp_path / "folder") == "store.unreadable"


def test_a_writer_that_never_ends_is_reported_as_locked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "BUSY_TIMEOUT_MS", 50)
    engine = open_database(tmp_path)
    other = sqlite3.connect(tmp_path / "ledger.sqlite3", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(EvidenceError) as refused, writing(engine):
        pass
    assert refused.value.code == "store.locked"
    other.close()


def test_closed_sets_and_references_hold_in_the_database_itself(tmp_path: Path) -> None:
    engine = open_database(tmp_path)
    bad = [
        CHANGE.format(approval="NULL", state="merged"),
        CHANGE.format(approval="'" + "1" * 64 + "'", state="judged"),
    ]
    for statement in bad:
        with pytest.raises(EvidenceError) as refused, writing(engine) as connection:
            connection.exec_driver_sql(statement)
        assert refused.value.code == "store.corrupt"
    with reading(engine) as connection:
        assert connection.exec_driver_sql("SELECT count(*) FROM changes").scalar_one() == 0


def test_two_first_starts_at_once_make_one_schema(tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path;"
        "from tipstaff.ledger.database import open_database;"
        "open_database(Path(sys.argv[1]))"
    )
    command = [sys.executable, "-c", code, str(tmp_path / "state")]
    starts = [subprocess.Popen(command) for _ in range(4)]
    assert [start.wait(60) for start in starts] == [0] * 4
    open_database(tmp_path / "state")


def test_a_path_with_special_characters_is_taken_literally(tmp_path: Path) -> None:
    state = tmp_path / "a ?mode=memory&x=%41#b"
    open_database(state)
    assert (state / "ledger.sqlite3").stat().st_size > 0
