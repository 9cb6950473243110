"""The ledger's tables on a PostgreSQL server, for many machines: one writer at a time, every commit synced."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection, Engine, create_engine, event, make_url, text
from sqlalchemy.exc import ArgumentError
from sqlalchemy.pool import NullPool

from tipstaff.errors import ContractError, EvidenceError
from tipstaff.ledger import schema
from tipstaff.ledger.database import IMMEDIATE, corrupt, reading, writing

_CONNECT_S = 10
_SETTINGS = "-c lock_timeout=30s -c statement_timeout=60s -c client_encoding=UTF8"
# The advisory lock of whoever writes; any number that no other program uses.
_WRITER = 0x7469707374616666
_DURABLE = {"fsync": {"on"}, "synchronous_commit": {"on", "remote_write", "remote_apply"}}


def open_server(url: str) -> Engine:
    """The database at a URL ``postgresql://…``, its tables made where there are none.

    Raises ``ContractError`` (``store.url``) and ``EvidenceError``: ``store.unreadable``, ``store.locked``,
    ``store.corrupt``, ``store.newer``, and ``store.weak`` where a commit need not reach the disk.
    """
    engine = _engine(url)
    with writing(engine) as connection:
        _demand_durable(connection)
        _create(connection, str(engine.url.database))
    with reading(engine):
        return engine


def open_to_read(url: str) -> Engine | None:
    """The database at a URL as it is, None where it has no tables; nothing is made. Raises as ``open_server`` does."""
    engine = _engine(url)
    with reading(engine) as connection:
        if connection.exec_driver_sql("SELECT to_regclass('tipstaff_schema')").scalar_one() is None:
            return None
        return engine if _version(connection, str(engine.url.database)) else None


def _engine(url: str) -> Engine:
    try:
        place = make_url(url)
        if place.drivername not in ("postgresql", "postgresql+psycopg"):
            raise _wrong(f"{place.drivername} is no database that approvals are kept in")
        if "@" in (place.host or ""):  # a part of the password, which errors would show
            raise _wrong("its password has an @, which is written %40")
        engine = create_engine(
            place.set(drivername="postgresql+psycopg"),
            poolclass=NullPool,
            connect_args={"connect_timeout": _CONNECT_S, "options": _SETTINGS},
        )
    except (ArgumentError, ValueError) as error:
        raise _wrong("it cannot be read as a URL") from error
    except ModuleNotFoundError as error:
        raise _wrong("the driver for PostgreSQL is not installed") from error
    event.listen(engine, "begin", _begin)
    return engine


def _wrong(what: str) -> ContractError:
    return ContractError(
        "store.url",
        what,
        field="store",
        fix="name a file, or postgresql://USER@HOST/DATABASE with `pip install 'tipstaff[postgresql]'`",
    )


def _begin(connection: Connection) -> None:
    if connection.get_execution_options().get(IMMEDIATE, False):
        connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({_WRITER})")
    else:
        connection.exec_driver_sql("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")


def _demand_durable(connection: Connection) -> None:
    for name, values in _DURABLE.items():
        answer: Any = connection.exec_driver_sql(f"SHOW {name}").scalar_one()
        if answer not in values:
            raise EvidenceError(
                "store.weak",
                f"PostgreSQL keeps {name} at {answer}",
                fix="turn it on for this database, so that no decision is lost with the power",
            )


def _create(connection: Connection, name: str) -> None:
    connection.exec_driver_sql("CREATE TABLE IF NOT EXISTS tipstaff_schema (version integer)")
    if _version(connection, name) is None:
        schema.metadata.create_all(connection, tables=[schema.approvals])
        insert = text("INSERT INTO tipstaff_schema VALUES (:version)")
        connection.execute(insert, {"version": schema.VERSION})


def _version(connection: Connection, name: str) -> int | None:
    """The version that wrote the tables, None where there are none. That of requests is the same in each."""
    versions = connection.exec_driver_sql("SELECT version FROM tipstaff_schema").scalars().all()
    if not versions:
        return None
    [version, *more] = versions
    if more or not isinstance(version, int):
        raise corrupt(name, "the table tipstaff_schema names no version")
    if version > schema.VERSION:
        raise EvidenceError(
            "store.newer",
            f"written by a later version (schema {version}; this one knows {schema.VERSION})",
            file=name,
            fix="update tipstaff",
        )
    return version
