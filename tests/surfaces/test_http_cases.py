"""What the MCP server answers to requests and messages that are none of its own, each as a table says."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from typing import Any

import pytest

from support.surface import INITIALIZE, Caller, message, serving, token
from support.workshop import Workshop
from tipstaff.surfaces.stdio import MAX_LINE

PING = message("ping", 5)
# What the request is like, the headers that make it so, and the answer: status, and code of the refusal.
REQUESTS: list[tuple[str, dict[str, Any], int, str | None]] = [
    ("its own host", {"Host": "127.0.0.1:{port}"}, 200, None),
    ("its own host by name", {"Host": "localhost:{port}"}, 200, None),
    ("its own host in capitals", {"Host": "LOCALHOST:{port}"}, 403, "mcp.host"),
    ("its own host in the newer internet", {"Host": "[::1]:{port}"}, 200, None),
    ("another host", {"Host": "evil.example"}, 403, "mcp.host"),
    ("another host with its port", {"Host": "evil.example:{port}"}, 403, "mcp.host"),
    ("a host that begins like its own", {"Host": "localhost.evil.example:{port}"}, 403, "mcp.host"),
    ("a host that ends like its own", {"Host": "evil.127.0.0.1:{port}"}, 403, "mcp.host"),
    ("its own host without the port", {"Host": "127.0.0.1"}, 403, "mcp.host"),
    ("another port", {"Host": "127.0.0.1:1"}, 403, "mcp.host"),
    ("a host with a user", {"Host": "127.0.0.1:{port}@evil.example"}, 403, "mcp.host"),
    ("no host", {"Host": ""}, 403, "mcp.host"),
    ("its own origin", {"Origin": "http://localhost:{port}"}, 200, None),
    ("another origin", {"Origin": "https://evil.example"}, 403, "mcp.origin"),
    ("another port's origin", {"Origin": "http://localhost:6274"}, 403, "mcp.origin"),
    ("the origin of a file", {"Origin": "null"}, 403, "mcp.origin"),
    ("an empty origin", {"Origin": ""}, 403, "mcp.origin"),
    ("its own origin over TLS", {"Origin": "https://localhost:{port}"}, 403, "mcp.origin"),
    ("JSON in UTF-8", {"Content-Type": "application/json; charset=utf-8"}, 200, None),
    ("a form", {"Content-Type": "application/x-www-form-urlencoded"}, 403, "mcp.content_type"),
    ("plain text", {"Content-Type": "text/plain"}, 403, "mcp.content_type"),
    ("almost JSON", {"Content-Type": "application/jsonx"}, 403, "mcp.content_type"),
    ("JSON in another set", {"Content-Type": "application/json; charset=utf-16"}, 403, "mcp.content_type"),
    ("no type", {"Content-Type": None}, 403, "mcp.content_type"),
    ("a compressed body", {"Content-Encoding": "gzip"}, 415, "mcp.content_type"),
    ("no token", {"Authorization": None}, 401, "mcp.unauthenticated"),
    ("an empty token", {"Authorization": "Bearer "}, 401, "mcp.unauthenticated"),
    ("a password", {"Authorization": "Basic eDp5"}, 401, "mcp.unauthenticated"),
    ("somebody's guess", {"Authorization": "Bearer letmein"}, 401, "access.unknown"),
    ("a token that is none's", {"Authorization": "Bearer tsmcp_" + "0" * 12 + "_" + "A" * 43}, 401, "access.unknown"),
    ("an unknown session", {"Mcp-Session-Id": "f" * 32}, 404, "mcp.session"),
    ("a session that is no name", {"Mcp-Session-Id": "../../x"}, 404, "mcp.session"),
    ("GET", {"method": "GET"}, 405, "mcp.request"),
    ("PUT", {"method": "PUT"}, 405, "mcp.request"),
    ("OPTIONS before a foreign request", {"method": "OPTIONS", "Origin": "https://evil.example"}, 403, "mcp.origin"),
    ("another place", {"path": "/"}, 404, "mcp.request"),
    ("another place below", {"path": "/mcp/x"}, 404, "mcp.request"),
    ("its place with a query", {"path": "/mcp?token=x"}, 404, "mcp.request"),
    ("a body that is too long", {"Content-Length": str(MAX_LINE + 1)}, 413, "mcp.message"),
]  # fmt: skip

DEEP = b"[" * 200 + b"]" * 200
# Bodies that are no message; each is answered by an error, and the server lives.
BODIES: dict[str, bytes] = {
    "nothing": b"",
    "a space": b" ",
    "half a message": b'{"jsonrpc":"2.0","id":1,',
    "two messages": b'{"jsonrpc":"2.0","id":1,"method":"ping"}{}',
    "a batch": json.dumps([PING, PING]).encode(),
    "an empty batch": b"[]",
    "a text": b'"ping"',
    "a number": b"1",
    "null": b"null",
    "a duplicate key": b'{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}',
    "a duplicate key within": b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":1,"a":2}}',
    "NaN": b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":NaN}}',
    "Infinity": b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":-Infinity}}',
    "a number out of range": b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":1e999}}',
    "a number of 5,000 digits": b'{"jsonrpc":"2.0","id":' + b"9" * 5000 + b',"method":"ping"}',
    "an id of a million characters": json.dumps(message("ping", "x" * 1_000_000)).encode(),
    "an id that is a fraction": b'{"jsonrpc":"2.0","id":1.5,"method":"ping"}',
    "an id that is null": b'{"jsonrpc":"2.0","id":null,"method":"ping"}',
    "an id that is true": b'{"jsonrpc":"2.0","id":true,"method":"ping"}',
    "an id that is a list": b'{"jsonrpc":"2.0","id":[1],"method":"ping"}',
    "a notification with an id": json.dumps(message("notifications/initialized", 1)).encode(),
    "a request without an id": json.dumps(message("tools/call", None)).encode(),
    "another version": b'{"jsonrpc":"1.0","id":1,"method":"ping"}',
    "no version": b'{"id":1,"method":"ping"}',
    "a method that is a number": b'{"jsonrpc":"2.0","id":1,"method":1}',
    "parameters that are a list": b'{"jsonrpc":"2.0","id":1,"method":"ping","params":[1]}',
    "no UTF-8": b'{"jsonrpc":"2.0","id":"\xff","method":"ping"}',
    "a lone surrogate": b'{"jsonrpc":"2.0","id":"\\ud800","method":"ping"}',
    "a byte order mark": b'\xef\xbb\xbf{"jsonrpc":"2.0","id":1,"method":"ping"}',
    "UTF-16": json.dumps(PING).encode("utf-16"),
    "a deep one": b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":' + DEEP + b"}}",
    "a null byte": b'{"jsonrpc":"2.0","id":1,"method":"ping"}\x00',
}


@pytest.fixture
def port(workshop: Workshop) -> Iterator[int]:
    """A server of the workshop."""
    with serving(workshop.root) as found:
        yield found


@pytest.fixture
def caller(workshop: Workshop, port: int) -> Caller:
    """A bearer with a session."""
    found = Caller(port, token(workshop.state, "desk"))
    found.begin()
    return found


@pytest.mark.promise("M6", "row 118")
def test_each_request_is_answered_as_the_table_says(caller: Caller) -> None:
    wrong = {}
    for number, (name, how, status, code) in enumerate(REQUESTS):
        given = {
            key.replace("-", "_"): value and value.replace("{port}", str(caller.port))
            for key, value in how.items()
        }
        answer = caller.send(message("ping", f"request-{number}"), **given)
        if (answer.status, answer.code) != (status, code):
            wrong[name] = answer
        assert b"Traceback" not in answer.body
        assert "access-control-allow-origin" not in answer.headers
    assert not wrong
    assert len(REQUESTS) >= 30
    assert caller.call("ping", "after all").status == 200


@pytest.mark.promise("row 119")
def test_body_that_is_no_message_is_an_error_and_the_server_lives(
    workshop: Workshop, caller: Caller
) -> None:
    for name, body in BODIES.items():
        answer = caller.send(body)
        assert (answer.status, answer.json["jsonrpc"]) == (400, "2.0"), name
        assert answer.json["error"]["code"] in (-32700, -32600), name
        assert "result" not in answer.json, name
        assert len(answer.body) < 2000, name
        assert b"Traceback" not in answer.body, name
    assert caller.call("ping", "after all").status == 200
    refused = [each for each in workshop.records() if each["decision"] == "refused"]
    assert {each["actor"]["id"] for each in refused} == {"desk"}


def test_headers_that_are_there_twice_are_refused(caller: Caller) -> None:
    for name in ("Host", "Origin", "Authorization", "Content-Type", "Mcp-Session-Id"):
        raw = (
            f"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:{caller.port}\r\n{name}: a\r\n{name}: b\r\n"
            "Content-Length: 0\r\nConnection: close\r\n\r\n"
        )
        status = _raw(caller.port, raw.encode())
        assert status == b"HTTP/1.1 400 Bad Request", name


@pytest.mark.promise("row 119")
def test_bytes_that_are_no_request_are_refused_and_the_server_lives(caller: Caller) -> None:
    head = f"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:{caller.port}\r\n"
    for raw in (
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n",
        b"GET\r\n\r\n",
        (head + "Content-Length: x\r\n\r\n").encode(),
        (head + "Content-Length: 1\r\nContent-Length: 2\r\n\r\n").encode(),
        (head + "Transfer-Encoding: chunked\r\n\r\nzz\r\n").encode(),
        (head + f"X: {'x' * 70_000}\r\n\r\n").encode(),
    ):
        assert _raw(caller.port, raw)[9:12] in (b"400", b"401", b"431"), raw[:60]
    assert caller.call("ping", "after all").status == 200


@pytest.mark.promise("row 117")
def test_no_argument_makes_the_caller_somebody_else(workshop: Workshop, caller: Caller) -> None:
    forged = {"principal": "alice@desk", "actor": {"id": "alice@desk", "type": "human"}}
    for number, where in enumerate(("arguments", "_meta", "params")):
        params: dict[str, Any] = {"name": "propose_action", "arguments": {"action": {"type": "x"}}}
        params = {**params, **forged} if where == "params" else params
        if where == "arguments":
            params["arguments"] |= forged
        if where == "_meta":
            params["_meta"] = forged
        answer = caller.send(message("tools/call", number, **params), X_Forwarded_User="alice")
        assert answer.status == 200
    records = [each for each in workshop.records() if each["target"] == "mcp:propose_action"]
    assert len(records) >= 3
    assert {(each["actor"]["id"], each["actor"]["type"]) for each in records} == {("desk", "agent")}


@pytest.mark.req("M-06")
@pytest.mark.promise("row 117")
def test_no_method_and_no_tool_approves_or_signs_anything(caller: Caller) -> None:
    for number, verb in enumerate(
        ("approve", "reject", "sign", "promote", "approvals", "pause", "resume", "policy_sign")
    ):
        answer = caller.call("tools/call", f"t{number}", name=verb, arguments={})
        assert (answer.json["error"]["code"], answer.code) == (-32602, "mcp.forbidden")
        assert caller.call(verb, f"m{number}").json["error"]["code"] == -32601
    for method in ("resources/list", "prompts/list", "completion/complete", "logging/setLevel"):
        assert caller.call(method, method).json["error"]["code"] in (-32601, -32602), method


def test_other_protocol_versions_are_answered_and_change_nothing(caller: Caller) -> None:
    for version in ("2026-07-28", "1999-01-01", "", "x" * 500):
        answer = caller.send(
            message("tools/list", f"v{version}"[:200]), MCP_Protocol_Version=version
        )
        assert answer.status in (200, 400, 404), version
        assert b"Traceback" not in answer.body
    assert caller.call("ping", "after all").status == 200
    assert INITIALIZE["protocolVersion"] == "2025-11-25"


def _raw(port: int, data: bytes) -> bytes:
    """The first line of what comes back for some bytes."""
    with socket.create_connection(("127.0.0.1", port), timeout=30) as connection:
        connection.sendall(data)
        return connection.makefile("rb").readline().strip()
