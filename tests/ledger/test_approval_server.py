"""The approval store on PostgreSQL keeps what the file keeps, and many machines may decide at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from sqlalchemy import Engine

from support import postgresql
from support.command_line import run
from support.ledger_parts import ALICE, BOB, SetClock, asked, refused
from support.racing import race
from support.workshop import Workshop
from tipstaff.ledger.approval_store import key_of, open_store
from tipstaff.ledger.approvals import Approvals
from tipstaff.ledger.database import reading, writing
from tipstaff.ledger.server import open_server

A, B = "a" * 64, "b" * 64


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    if not postgresql.is_here():
        pytest.skip("no PostgreSQL here: apt-get install postgresql")
    with postgresql.a_server() as url:
        yield url


@pytest.fixture
def server(url: str) -> Engine:
    """An empty ledger."""
    engine = open_server(url)
    with writing(engine) as connection:
        connection.exec_driver_sql("TRUNCATE approvals")
    return engine


@pytest.mark.req("AP-01", "AP-08", "AP-10", "AP-11", "HS-12")
def test_requests_on_a_server_are_asked_decided_and_used_once(server: Engine) -> None:
    clock = SetClock()
    store = Approvals(server, clock)
    key = key_of(A, "p")
    assert store.get(key) is None
    first = store.request(asked(A, key=key, evidence={"text": "\x00\u20ac"}))
    assert store.request(asked(A, key=key, decision_id="d2")) == first == store.get(key)
    assert first.key == key
    store.request(asked(B, confirmations=2))
    with refused("approval.unknown", 2):
        store.approve(f"q:{A}", BOB)
    assert store.approve(key, BOB, note="yes").decided_by == BOB
    with refused("approval.decided", 2):
        store.reject(key, ALICE)
    assert store.consume(key).status == "consumed"
    with refused("approval.consumed", 2):
        store.consume(key)
    [pending] = store.list("pending")
    token = store.confirm_first(pending.key, BOB)
    with refused("approval.token", 2):
        store.approve(pending.key, BOB, token="wrong")
    with refused("approval.token", 2):
        store.approve(pending.key, BOB, token=token)
    clock.advance(seconds=900)
    with refused("approval.expired", 2):
        store.approve(pending.key, BOB)
    assert [request.key for request in store.sweep()] == [pending.key]
    assert store.sweep() == []
    assert store.request(asked(A, key=key, decision_id="d3")).status == "pending"
    assert store.counts() == {
        "pending": 1,
        "approved": 0,
        "rejected": 0,
        "expired": 1,
        "consumed": 1,
    }


@pytest.mark.req("AP-03")
@pytest.mark.promise("row 75")
def test_of_twenty_racing_deciders_on_a_server_one_decides(url: str, server: Engine) -> None:
    Approvals(server).request(asked(A, key=A))
    acts: list[Callable[[], object]] = [
        (lambda: open_store(url).approve(A, BOB))
        if number % 2
        else (lambda: open_store(url).reject(A, ALICE))
        for number in range(20)
    ]
    assert race(acts) == [("approval.decided", 2)] * 19 + [("done", 0)]


@pytest.mark.promise("row 74")
def test_of_sixteen_who_use_one_approval_on_a_server_one_does(url: str, server: Engine) -> None:
    store = Approvals(server)
    store.request(asked(A, key=A))
    store.approve(A, BOB)
    acts: list[Callable[[], object]] = [lambda: open_store(url).consume(A)] * 16
    assert race(acts) == [("approval.consumed", 2)] * 15 + [("done", 0)]


@pytest.mark.req("HP-06")
def test_twelve_who_ask_a_server_at_once_are_asked_once(url: str, server: Engine) -> None:
    acts: list[Callable[[], object]] = [lambda: open_store(url).request(asked(A, key=A))] * 12
    assert race(acts) == [("done", 0)] * 12
    assert Approvals(server).counts()["pending"] == 1


def test_server_is_listed_by_its_url(url: str, server: Engine, tmp_path: Path) -> None:
    Approvals(server).request(asked(A, key=A))
    answer = run("governed-harness", "approvals", "--store", url, "--json", cwd=tmp_path)
    assert answer.code == 0
    assert [request["key"] for request in answer.json["requests"]] == [A]
    assert answer.json["counts"] == {"pending": 1, "approved": 0, "rejected": 0}


def test_server_without_tables_is_listed_as_an_empty_queue_and_left_so(
    url: str, server: Engine, tmp_path: Path
) -> None:
    with writing(server) as connection:
        connection.exec_driver_sql("DROP TABLE approvals, tipstaff_schema")
    answer = run("governed-harness", "approvals", "--store", url, "--json", cwd=tmp_path)
    assert answer.code == 0
    counts = {"pending": 0, "approved": 0, "rejected": 0}
    assert answer.json == {"requests": [], "counts": counts}
    assert _tables(server) == []


def test_server_has_the_table_of_requests_and_no_other_of_the_ledger(server: Engine) -> None:
    assert _tables(server) == ["approvals", "tipstaff_schema"]


def _tables(server: Engine) -> list[str]:
    with reading(server) as connection:
        return sorted(
            connection.exec_driver_sql(
                "SELECT tablename FROM pg_tables WHERE schemaname = 'public'"
            ).scalars()
        )


@pytest.mark.promise("L7", "row 93")
def test_password_in_the_url_of_a_server_is_never_printed(
    url: str, server: Engine, workshop: Workshop
) -> None:
    secret = "Kestrel7"
    whole = url.replace("tipstaff@", f"tipstaff:{secret}@") + f"&password={secret}"
    Approvals(server).request(asked(A, key=A, confirmations=2, requested_by=BOB))
    call = ("governed-harness", "approve", "--key", A, "--store")
    first = workshop.run(*call, whole)
    assert first.code == 1
    assert "--store postgresql://tipstaff:***@/postgres?host=" in first.stdout
    failed = [
        workshop.run(*call, whole, "--token", "wrong"),
        workshop.run(*call, whole.replace(secret, f"x@{secret}")),
        workshop.run(*call, whole.replace("host=", "host=/var/empty")),
        workshop.run(*call, whole.replace("postgresql:", "mysql:")),
        workshop.run(*call, whole, whole),
    ]
    assert [answer.code for answer in failed] == [2, 2, 3, 2, 2]
    for answer in (first, *failed):
        assert secret not in answer.stdout + answer.stderr


@pytest.mark.req("AP-01")
def test_another_status_on_a_server_is_refused_by_it_and_corrupt(server: Engine) -> None:
    store = Approvals(server)
    store.request(asked(A, key=A))
    with refused("store.corrupt", 3), writing(server) as connection:
        connection.exec_driver_sql("UPDATE approvals SET status = 'denied'")
    with writing(server) as connection:
        connection.exec_driver_sql("ALTER TABLE approvals DROP CONSTRAINT status_is_known")
        connection.exec_driver_sql("UPDATE approvals SET status = 'denied'")
    try:
        for use in (store.list, lambda: store.get(A), lambda: store.approve(A, BOB)):
            with refused("store.corrupt", 3):
                use()
    finally:
        with writing(server) as connection:
            connection.exec_driver_sql("DROP TABLE approvals, tipstaff_schema")


def test_server_that_need_not_sync_or_is_newer_isrefused(url: str, server: Engine) -> None:
    with writing(server) as connection:
        connection.exec_driver_sql("ALTER DATABASE postgres SET synchronous_commit = off")
    with refused("store.weak", 3):
        open_server(url)
    with writing(server) as connection:
        connection.exec_driver_sql("ALTER DATABASE postgres RESET synchronous_commit")
        connection.exec_driver_sql("UPDATE tipstaff_schema SET version = 99")
    with refused("store.newer", 3):
        open_server(url)
    with writing(server) as connection:
        connection.exec_driver_sql("UPDATE tipstaff_schema SET version = 1")


@pytest.mark.parametrize(
    ("place", "code", "exit_code"),
    [
        ("http://example.com/x", "store.url", 2),
        ("mysql://a@b/c", "store.url", 2),
        ("postgresql://host:port/x", "store.url", 2),
        ("postgresql://a:b@c@host/x", "store.url", 2),
        ("postgresql://nobody@/x?host=/var/empty/absent", "store.unreadable", 3),
    ],
)
def test_url_that_is_no_store_is_an_error(place: str, code: str, exit_code: int) -> None:
    with refused(code, exit_code):
        open_store(place)
