"""The tools as a real host has them: what is listed, what a call gives, and what the server does with bad messages."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from mcp.shared.exceptions import MCPError

from support.command_line import run
from support.hosts import PROGRAM, WIDE_S, a_spec, answers, hosted, records
from tipstaff.surfaces.stdio import MAX_LINE, Rejected, read_message

# Every tool that there is, with the members of its arguments, for each scope.
PINNED = {
    "read": {"governed_harness": {"spec", "dry_run"}},
    "propose": {
        "governed_harness": {"spec", "dry_run", "out"},
        "propose_action": {"action", "reason", "provenance"},
    },
}
# What is of its own moment or names it.
PASSING = {"created_at", "decision_id", "ok", "dry_run", "untrusted"}


def same(receipt: dict[str, Any]) -> dict[str, Any]:
    """A receipt without what differs from one run to the next."""
    return {name: value for name, value in receipt.items() if name not in PASSING}


@pytest.mark.req("M-02", "M-06", "AP-04")
@pytest.mark.parametrize("scope", PINNED)
def test_host_is_listed_the_pinned_tools_of_its_scope_and_no_others(
    project: Path, scope: str
) -> None:
    with hosted(project, "--scope", scope) as host:
        tools = host.tools()
        assert {tool.name: set(tool.input_schema["properties"]) for tool in tools} == PINNED[scope]
        for tool in tools:
            assert tool.input_schema["additionalProperties"] is False
            assert "ask the user before" in str(tool.description)
        absent = {"propose_action", "governed_harness"} - set(PINNED[scope])
        for name in sorted(absent | {"approve", "reject", "approvals", "pause", "resume", "sign"}):
            with pytest.raises(MCPError) as refused:
                host.call(name)
            assert refused.value.error.data["code"] == "mcp.forbidden"
    refusals = [record for record in records(project) if record.decision == "refused"]
    assert len(refusals) == len(absent) + 6
    assert {record.actor.type for record in refusals} == {"agent"}


@pytest.mark.req("M-01", "M-02")
def test_same_specification_has_the_same_receipt_on_the_command_line_and_over_mcp(
    project: Path,
) -> None:
    specs = {
        "promoted": a_spec(),
        "rejected": a_spec(modification__modification_id="m2", modification__risk=0.9),
        "rolled back": a_spec(
            modification__modification_id="m3",
            after={**a_spec()["after"], "scores": {"parse": 0.1, "plan": 0.72}},
        ),
        "waiting": a_spec(modification__modification_id="m4", approval_store="approvals.jsonl"),
    }
    store = str(project / "approvals.jsonl")
    with hosted(project, TIPSTAFF_APPROVAL_STORE=store) as host:
        for name, spec in specs.items():
            (project / "governed.json").write_text(json.dumps(spec))
            for verb, dry_run in (("plan", True), ("run", False)):
                answer = run(
                    "governed-harness", verb, "--spec", "governed.json", "--json", cwd=project
                )
                over_mcp = host.call("governed_harness", spec=spec, dry_run=dry_run)
                found = over_mcp.structured_content
                assert found is not None
                assert not over_mcp.is_error
                assert (found["ok"], found["dry_run"]) == (True, dry_run), name
                assert found["promoted"] is (name == "promoted"), name
                assert same(found) == same(answer.json), (name, verb)
                assert json.loads(over_mcp.content[0].text) == found  # type: ignore[union-attr]


BAD_LINES: dict[str, tuple[bytes, int, str]] = {
    "no JSON": (b"{", -32700, "json.syntax"),
    "a key twice": (
        b'{"jsonrpc":"2.0","id":1,"method":"ping","method":"ping"}',
        -32700,
        "json.duplicate_key",
    ),
    "a key twice, deep inside": (
        b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"_meta":{"a":1,"a":2}}}',
        -32700,
        "json.duplicate_key",
    ),
    "NaN": (
        b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":NaN}}',
        -32700,
        "json.number",
    ),
    "a number beyond all": (
        b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":1e999}}',
        -32700,
        "json.number",
    ),
    "not UTF-8": (b'{"jsonrpc":"2.0","id":1,"method":"\xff"}', -32700, "json.encoding"),
    "too deep": (b"[" * 100 + b"]" * 100, -32700, "json.too_deep"),
    "a batch": (b'[{"jsonrpc":"2.0","id":1,"method":"ping"}]', -32600, "mcp.message"),
    "another version": (b'{"jsonrpc":"1.0","id":1,"method":"ping"}', -32600, "mcp.message"),
    "no method": (b'{"jsonrpc":"2.0","id":1}', -32600, "mcp.message"),
    "a text": (b'"ping"', -32600, "mcp.message"),
    "an id that is null": (b'{"jsonrpc":"2.0","id":null,"method":"ping"}', -32600, "mcp.message"),
    "an id that is true": (b'{"jsonrpc":"2.0","id":true,"method":"ping"}', -32600, "mcp.message"),
    "an id of a million characters": (
        b'{"jsonrpc":"2.0","id":"%b","method":"ping"}' % (b"7" * 1_000_000),
        -32600,
        "mcp.message",
    ),
    "a line of ten megabytes": (
        b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":"%b"}}' % (b"7" * (10 << 20)),
        -32600,
        "mcp.message",
    ),
}


@pytest.mark.promise("row 119")
@pytest.mark.parametrize("line", BAD_LINES)
def test_bad_message_is_rejected_before_anything_acts_on_it(line: str) -> None:
    data, number, code = BAD_LINES[line]
    with pytest.raises(Rejected) as rejected:
        read_message(None if len(data) > MAX_LINE else data)
    error = rejected.value.answer.error
    assert (error.code, error.data["code"]) == (number, code)
    assert len(error.message) < 200


@pytest.mark.promise("row 119")
def test_bad_message_is_answered_with_an_error_and_the_server_lives(project: Path) -> None:
    ping = b'{"jsonrpc":"2.0","id":"after %d","method":"ping"}'
    lines = [part for n, (line, _, _) in enumerate(BAD_LINES.values()) for part in (line, ping % n)]
    found = answers(project, *lines)
    good = [answer for answer in found if "result" in answer]
    errors = [
        (each["error"]["code"], each["error"]["data"]["code"]) for each in found if "error" in each
    ]
    assert {answer["id"] for answer in good} == {f"after {n}" for n in range(len(BAD_LINES))}
    assert len(good) == len(BAD_LINES)
    assert errors == [(number, code) for _, number, code in BAD_LINES.values()]
    assert records(project) == []


@pytest.mark.promise("row 119")
def test_notification_with_an_id_and_half_a_line_are_no_messages(
    project: Path,
) -> None:
    found = answers(
        project,
        b'{"jsonrpc":"2.0","id":1,"method":"notifications/initialized"}',
        b"",
        b'{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"propose_action","argum',
    )
    assert {answer["id"]: answer["error"]["code"] for answer in found} == {1: -32600, None: -32700}
    assert len(found) == 2, "an empty line is nothing"
    assert records(project) == []


def test_host_that_leaves_without_reading_ends_the_server_quietly(project: Path) -> None:
    with subprocess.Popen(
        [*PROGRAM, "mcp", "serve"],
        cwd=project,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as server:
        assert server.stdin and server.stdout and server.stderr
        server.stdout.close()
        server.stdin.write(b"no message\n" * 3)
        server.stdin.flush()
        assert server.wait(WIDE_S) == 0
        assert server.stderr.read() == b""


@pytest.mark.promise("M8", "row 119")
def test_request_that_is_delivered_five_times_at_once_has_one_effect_and_one_answer(
    project: Path,
) -> None:
    call = {
        "jsonrpc": "2.0",
        "id": 7,
        "method": "tools/call",
        "params": {
            "name": "governed_harness",
            "arguments": {"spec": a_spec(approval_store="pinned.jsonl")},
        },
    }
    store = project / "pinned.jsonl"
    found = answers(project, *[json.dumps(call).encode()] * 5, TIPSTAFF_APPROVAL_STORE=str(store))
    assert [answer["id"] for answer in found] == [7] * 5
    told = [same(answer["result"]["structuredContent"]) for answer in found]
    assert told[0]["approval"]["status"] == "pending"
    assert all(each == told[0] for each in told)
    assert len(store.read_text().splitlines()) == 1
    called = [record for record in records(project) if record.decision == "called"]
    assert len(called) == 5


def test_no_other_verb_waits_for_the_sdk_to_be_loaded(project: Path) -> None:
    (project / "governed.json").write_text(json.dumps(a_spec(prover="wiring:proves")))
    code = (
        "import sys; from tipstaff.cli import main;"
        "main(['mcp', '--help']); main(['governed-harness', 'plan', '--strict-refs', '--spec', 'governed.json']);"
        "assert not {'mcp', 'mcp_types', 'anyio'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], cwd=project, check=True, capture_output=True)
