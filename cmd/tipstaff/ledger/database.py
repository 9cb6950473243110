"""The ledger's database: SQLite that syncs every commit, one file a project, closed to other users."""

from __future__ import annotations

import os
import sqlite3
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import URL, Connection, Engine, create_engine, event
from sqlalchemy.exc import DBAPIError, SQLAlchemyError
from sqlalchemy.pool import NullPool

from tipstaff.errors import EvidenceError
from tipstaff.files import private_folder
from tipstaff.ledger import schema

FILE = "ledger.sqlite3"
BUSY_TIMEOUT_MS = 30_000
# Primary result codes of SQLite.
_LOCKED = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}
_CORRUPT = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_SCHEMA}
# States of PostgreSQL: a lock or a statement that took too long; classes of values that cannot stand in their column.
_HELD = {"55P03", "57014"}
_MISFITS = ("22", "23")
IMMEDIATE = "tipstaff_immediate"


def open_database(state: Path) -> Engine:
    """The database of a state folder, made where it is absent.

    Raises ``EvidenceError``: ``store.unreadable``, ``store.corrupt``, ``store.locked``, ``store.weak`` where a
    durability setting does not hold, ``store.newer`` where a later version wrote it.
    """
    path = state.absolute() / FILE
    _demand_private_file(path)
    engine = create_engine(
        URL.create("sqlite", database=str(path)),
        poolclass=NullPool,
        connect_args={"timeout": BUSY_TIMEOUT_MS / 1000, "isolation_level": None},
    )
    event.listen(engine, "connect", _strengthen)
    event.listen(engine, "begin", _begin)
    with reading(engine) as connection:
        version = _version(connection)
    if version != schema.VERSION:
        with writing(engine) as connection:
            _create(connection, path)
    return engine


@contextmanager
def reading(engine: Engine) -> Iterator[Connection]:
    """A consistent read. Raises ``EvidenceError`` (``store.*``)."""
    with _wrapped(engine), engine.connect() as connection, connection.begin():
        yield connection


@contextmanager
def writing(engine: Engine) -> Iterator[Connection]:
    """A transaction that holds the write lock from its start; committed at the end, undone by an exception.

    Raises ``EvidenceError`` (``store.*``).
    """
    with _wrapped(engine), engine.connect() as connection:
        immediate = connection.execution_options(**{IMMEDIATE: True})
        with immediate.begin():
            yield immediate


def corrupt(path: str, message: str) -> EvidenceError:
    """Content that this program does not write."""
    return EvidenceError(
        "store.corrupt",
        message,
        file=path,
        fix="restore the ledger from a backup; nothing is decided",
    )


def has_fixed_wal(version: tuple[int, ...]) -> bool:
    """Whether this SQLite is free of the race that loses commits when the write-ahead log restarts."""
    return version >= (3, 51, 3) or any(
        version[:2] == fixed[:2] and version >= fixed for fixed in ((3, 44, 6), (3, 50, 7))
    )


def journal_mode() -> str:
    """The journal this process may use: ``wal`` where it is sound, else ``delete``."""
    return "wal" if has_fixed_wal(sqlite3.sqlite_version_info) else "delete"


def _demand_private_file(path: Path) -> None:
    try:
        private_folder(path.parent)
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
        descriptor = os.open(path, flags, 0o600)
        try:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode) or status.st_uid != os.geteuid():
                raise _unreadable(str(path), "not a regular file of this user")
            os.fchmod(descriptor, 0o600)
        finally:
            os.close(descriptor)
    except OSError as error:
        raise _unreadable(str(path), error.strerror or str(error)) from error


def _strengthen(connection: sqlite3.Connection, _record: Any) -> None:
    wanted: dict[str, int | str] = {
        "busy_timeout": BUSY_TIMEOUT_MS,
        "journal_mode": journal_mode(),
        "synchronous": 2,
        "foreign_keys": 1,
        "ignore_check_constraints": 0,
        "trusted_schema": 0,
    }
    for name, value in wanted.items():
        connection.execute(f"PRAGMA {name} = {value}")
        answer = connection.execute(f"PRAGMA {name}").fetchone()
        if answer is None or answer[0] != value:
            shown = answer[0] if answer else "unknown"
            raise EvidenceError(
                "store.weak",
                f"SQLite keeps {name} at {shown}, not {value}",
                fix="close other programs that use the ledger, or use another SQLite",
            )


def _begin(connection: Connection) -> None:
    immediate = connection.get_execution_options().get(IMMEDIATE, False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if immediate else "BEGIN")


def _version(connection: Connection) -> int:
    return int(connection.exec_driver_sql("PRAGMA user_version").scalar_one())


def _create(connection: Connection, path: Path) -> None:
    version = _version(connection)
    if version > schema.VERSION:
        raise EvidenceError(
            "store.newer",
            f"written by a later version (schema {version}; this one knows {schema.VERSION})",
            file=str(path),
            fix="update tipstaff",
        )
    if version == 0:
        tables = connection.exec_driver_sql("SELECT count(*) FROM sqlite_master").scalar_one()
        if tables:
            raise corrupt(str(path), "the file is the database of another program")
    if version < schema.VERSION:
        schema.metadata.create_all(connection)  # those of an earlier version stay as they are
        connection.exec_driver_sql(f"PRAGMA user_version = {schema.VERSION}")


@contextmanager
def _wrapped(engine: Engine) -> Iterator[None]:
    path = str(engine.url.database)
    try:
        yield
    except DBAPIError as error:
        raise _translated(path, error.orig) from error
    except sqlite3.Error as error:
        raise _translated(path, error) from error
    except SQLAlchemyError as error:
        raise corrupt(path, f"a value is not what this program writes: {error}") from error


def _translated(path: str, error: BaseException | None) -> EvidenceError:
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    state = getattr(error, "sqlstate", None) or ""
    message = str(error)
    if code in _LOCKED or state in _HELD:
        return EvidenceError(
            "store.locked",
            f"another program holds the ledger: {message}",
            file=path,
            fix="wait for it to end, then try again",
        )
    if (
        state.startswith(_MISFITS)
        or code in _CORRUPT
        or code in (sqlite3.SQLITE_CONSTRAINT, sqlite3.SQLITE_ERROR)
    ):
        return corrupt(path, message)
    return _unreadable(path, message)


def _unreadable(path: str, message: str) -> EvidenceError:
    return EvidenceError(
        "store.unreadable",
        f"the ledger can't be read or written: {message}",
        file=path,
        fix="make the state folder and its files writable for you, and free disk space",
    )
