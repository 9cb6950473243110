"""The MCP server over HTTP lets bearers of tokens in, each with its scope, and nobody else."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator

import pytest

from support.surface import INITIALIZE, Caller, message, serving, token
from support.workshop import Workshop
from tipstaff.errors import ContractError
from tipstaff.ledger.database import open_database
from tipstaff.surfaces.web import front, refused, sessions
from tipstaff.surfaces.web import serving as web_serving
from tipstaff.surfaces.web.refused import Refused
from tipstaff.surfaces.web.serving import listen

ACTION = {"name": "propose_action", "arguments": {"action": {"type": "send_reply"}}}


@pytest.fixture
def port(workshop: Workshop) -> Iterator[int]:
    """A server of the workshop."""
    with serving(workshop.root) as found:
        yield found


@pytest.fixture
def caller(workshop: Workshop, port: int) -> Caller:
    """A bearer who may propose."""
    return Caller(port, token(workshop.state, "desk"))


def names(caller: Caller, name: str = "list") -> list[str]:
    """The tools that a caller is shown."""
    return [tool["name"] for tool in caller.call("tools/list", name).json["result"]["tools"]]


@pytest.mark.req("M-06", "M-07")
def test_tools_are_those_of_the_tokens_scope(workshop: Workshop, port: int, caller: Caller) -> None:
    caller.begin()
    assert names(caller) == ["governed_harness", "propose_action"]
    reader = Caller(port, token(workshop.state, "reader", "read"))
    reader.begin()
    assert names(reader) == ["governed_harness"]
    before = len(workshop.records())
    answer = reader.call("tools/call", 2, **ACTION)
    assert (answer.status, answer.code) == (200, "mcp.forbidden")
    [line] = workshop.records()[before:]
    assert (line["decision"], line["target"]) == ("refused", "mcp:propose_action")
    assert line["actor"] == {"id": "reader", "type": "agent"}


@pytest.mark.req("M-07")
def test_call_is_on_record_under_the_tokens_name(workshop: Workshop, caller: Caller) -> None:
    caller.begin()
    answer = caller.call("tools/call", 2, **ACTION)
    assert answer.status == 200, answer
    called = [record for record in workshop.records() if record["decision"] == "called"]
    assert [(each["target"], each["actor"]["id"]) for each in called] == [
        ("mcp:propose_action", "desk")
    ]
    assert {record["actor"]["type"] for record in workshop.records()} == {"agent"}
    assert workshop.is_sound()


@pytest.mark.req("M-07")
@pytest.mark.promise("row 117")
def test_revoked_or_expired_token_is_refused_at_the_next_call(
    workshop: Workshop, port: int, caller: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    caller.begin()
    assert names(caller)
    assert workshop.run("mcp", "token", "revoke", "desk").code == 0
    answer = caller.call("tools/list", 2)
    assert (answer.status, answer.code) == (401, "access.revoked")
    assert answer.headers["www-authenticate"].startswith("Bearer")
    assert caller.call("tools/call", 3, **ACTION).code == "access.revoked"
    last = workshop.records()[-1]
    assert (last["decision"], last["codes"]) == ("refused", ["access.revoked"])
    assert last["actor"] == {"id": "desk", "type": "agent"}
    late = Caller(port, token(workshop.state, "late"))
    late.begin()
    monkeypatch.setattr("tipstaff.engine.engine.timestamp", lambda: "2199-01-01T00:00:00.000000Z")
    assert late.call("tools/list", 2).code == "access.expired"


@pytest.mark.req("M-07")
def test_server_of_the_narrow_scope_refuses_wide_tokens(workshop: Workshop) -> None:
    with serving(workshop.root, "read") as port:
        wide = Caller(port, token(workshop.state, "wide"))
        answer = wide.call("initialize", 1)
        assert (answer.status, answer.code) == (403, "access.scope")
        narrow = Caller(port, token(workshop.state, "narrow", "read"))
        narrow.begin()
        assert names(narrow) == ["governed_harness"]


def test_nobody_is_let_in_where_nobody_can_tell(
    workshop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TIPSTAFF_OPA_URL", "http://127.0.0.1:1")
    monkeypatch.setenv("TIPSTAFF_OPA_TOKEN", "x" * 32)
    with serving(workshop.root) as port:
        caller = Caller(port, token(workshop.state, "desk"))
        answer = caller.call("initialize", 1, **INITIALIZE)
        assert (answer.status, answer.code) == (503, "engine.unavailable")


@pytest.mark.promise("row 118")
def test_session_of_another_token_is_refused_and_an_unknown_one_not_found(
    workshop: Workshop, port: int, caller: Caller
) -> None:
    caller.begin()
    thief = Caller(port, token(workshop.state, "thief"), caller.session)
    for method in ("POST", "DELETE"):
        answer = thief.send(message("tools/list"), method)
        assert (answer.status, answer.code) == (403, "mcp.session")
    assert names(caller)
    thief.session = "0" * 32
    assert thief.call("tools/list").status == 404
    thief.session = None
    answer = thief.call("tools/list")
    assert (answer.status, answer.code) == (400, "mcp.session")


def test_session_that_is_ended_is_gone(caller: Caller) -> None:
    caller.begin()
    assert caller.send(method="DELETE").status == 200
    assert caller.call("tools/list").status == 404


@pytest.mark.promise("row 119")
def test_id_counts_once_in_a_session(workshop: Workshop, caller: Caller) -> None:
    caller.begin()
    answers = [caller.call("tools/call", 7, **ACTION) for _ in range(3)]
    assert [answer.status for answer in answers] == [200, 400, 400]
    assert answers[2].code == "mcp.id_reused"
    assert caller.call("tools/list", "7").code == "mcp.id_reused"
    called = [record for record in workshop.records() if record["decision"] == "called"]
    assert len(called) == 1


@pytest.mark.promise("row 119")
def test_id_that_races_itself_has_one_effect(workshop: Workshop, caller: Caller) -> None:
    caller.begin()
    statuses: list[int] = []

    def call() -> None:
        own = Caller(caller.port, caller.token, caller.session)
        statuses.append(own.call("tools/call", 7, **ACTION).status)

    threads = [threading.Thread(target=call) for _ in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(statuses) == [200, 400, 400, 400, 400]


def test_sessions_and_their_ids_are_bounded(
    workshop: Workshop, port: int, caller: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sessions, "MAX_OF_ONE", 2)
    monkeypatch.setattr(sessions, "MAX_IDS", 4)
    other = Caller(port, token(workshop.state, "other"))
    other.begin()
    mine = []
    for _ in range(3):
        caller.session = None
        caller.begin()
        mine.append(caller.session)
    found = []
    for session in mine:
        caller.session = session
        found.append(caller.call("ping", "a").status)
    assert found == [404, 200, 200]
    assert [other.call("ping", name).status for name in range(4)] == [200, 200, 200, 404]


@pytest.mark.req("M-07")
def test_flood_of_strangers_leaves_few_records_and_says_how_many_there_were(
    workshop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(refused, "SECONDS_FOR_ONE", 1e9)
    with serving(workshop.root) as port:
        stranger = Caller(port)
        assert {stranger.call("tools/list", number).status for number in range(100)} == {401}
    records = workshop.records()
    assert len(records) == refused.BURST + 1
    assert {record["decision"] for record in records} == {"refused"}
    assert records[-1]["detail"]["omitted_before"] == 100 - refused.BURST
    assert records[-1]["codes"] == ["mcp.omitted"]


def test_record_of_a_refusal_says_how_many_were_left_out_before_it(workshop: Workshop) -> None:
    now = [0.0]
    kept = refused.Refusals(workshop.engine().project, lambda line: None, lambda: now[0])
    refusal = refused.Refused(401, "mcp.unauthenticated", "no")
    for _ in range(refused.BURST + 5):
        kept.keep(refusal, "POST")
    now[0] = refused.SECONDS_FOR_ONE
    kept.keep(refusal, "POST")
    kept.close()
    omitted = [record["detail"]["omitted_before"] for record in workshop.records()]
    assert omitted == [*[0] * refused.BURST, 5]


def test_body_that_never_ends_is_given_up(
    workshop: Workshop, port: int, caller: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(front, "_PATIENCE_S", 0.2)
    answer = caller.send(b"{", Content_Length="100")
    assert answer.status == 408
    assert caller.begin().status == 200


@pytest.mark.promise("M6")
@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "localhost", "example.com", ""])
def test_server_listens_on_loopback_only(host: str) -> None:
    with pytest.raises(ContractError) as refusal:
        listen(host, 0)
    assert (refusal.value.code, refusal.value.field) == ("mcp.address", "--host")


def test_port_that_is_taken_is_an_error(workshop: Workshop, port: int) -> None:
    answer = workshop.run("mcp", "serve", "--transport", "http", "--port", str(port), "--json")
    assert (answer.code, answer.json["error"]["code"]) == (2, "mcp.address")
    assert answer.json["error"]["field"] == "--port"


def test_address_of_the_newer_internet_is_served_too(workshop: Workshop) -> None:
    with listen("::1", 0) as listener:
        assert listener.getsockname()[0] == "::1"


def test_tokens_that_cannot_be_read_end_the_server_before_it_begins(workshop: Workshop) -> None:
    open_database(workshop.state)
    (workshop.state / "ledger.sqlite3").write_bytes(b"x" * 5000)
    answer = workshop.run("mcp", "serve", "--transport", "http", "--json")
    assert (answer.code, answer.json["error"]["code"]) == (3, "store.corrupt")


@pytest.mark.promise("M6")
def test_connection_that_asks_nothing_is_closed(
    workshop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(web_serving, "_IDLE_S", 0.1)
    with (
        serving(workshop.root) as port,
        socket.create_connection(("127.0.0.1", port), timeout=30) as silent,
        socket.create_connection(("127.0.0.1", port), timeout=30) as half,
    ):
        half.sendall(b"POST /mcp HT")
        assert (silent.recv(1), half.recv(1)) == (b"", b"")


def test_session_that_makes_room_is_ended_as_its_owner(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sessions, "MAX_SESSIONS", 1)
    kept = sessions.Sessions()
    assert kept.opened("a", "alice", 1) == []
    assert kept.opened("b", "bob", 1) == [("a", "alice")]
    with pytest.raises(Refused, match="no such session"):
        kept.claim("a", 2, "alice")


@pytest.mark.parametrize("name", ["unauthenticated", "unknown", "http", "tokens"])
def test_token_bears_no_name_of_those_without_one(workshop: Workshop, name: str) -> None:
    done = workshop.run("mcp", "token", "issue", name, "--json")
    assert (done.code, done.json["error"]["code"]) == (2, "token.name")
