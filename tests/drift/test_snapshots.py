"""A snapshot has one shape and one text; what is none is refused by name, and is never an empty contract."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from support.contracts import FORECAST, STATIONS, capture, taken
from support.schemas import demand
from tipstaff.documents.capture import from_capture
from tipstaff.documents.contract import Snapshot, read_json, read_snapshot, text
from tipstaff.errors import ContractError

OLD: dict[str, Any] = {
    "schema_version": 1,
    "server_id": "weather",
    "captured_at": "2026-01-01T00:00:00+00:00",
    "tools": [
        {
            "name": "get_forecast",
            "description": "Forecast.",
            "input_schema": {"type": "object", "properties": {"days": {"type": "integer"}}},
        },
        {"name": "list_stations"},
    ],
    "behavior_fingerprint": "baseline-fp-aaaa",
}
ALL: dict[str, Any] = {
    "protocolVersion": "2025-11-25",
    "serverInfo": {"name": "weather", "version": "1.0.0", "icons": [{"src": "a"}]},
    "capabilities": {"tools": {"listChanged": True}},
    "instructions": "Ask for the forecast.",
    "prompts": [{"name": "plan", "arguments": [{"name": "city", "required": True}]}],
    "resources": [{"uri": "weather://now", "name": "now"}],
    "resourceTemplates": [{"uriTemplate": "weather://{city}", "name": "city"}],
}


def written(value: Any, folder: Path, name: str = "weather.mcpc.json") -> Path:
    """A file with a value as JSON."""
    path = folder / name
    path.write_text(json.dumps(value))
    return path


def refused(path: Path) -> ContractError:
    """The error for a file that is no snapshot."""
    with pytest.raises(ContractError) as caught:
        read_snapshot(path)
    return caught.value


@pytest.mark.req("C-02")
def test_first_version_still_loads(tmp_path: Path) -> None:
    found = read_snapshot(written(OLD, tmp_path))
    assert [tool["name"] for tool in found.tools] == ["get_forecast", "list_stations"]
    assert found.tools[0]["inputSchema"]["properties"]["days"] == {"type": "integer"}
    assert found.behavior_fingerprint == "baseline-fp-aaaa"
    demand("contract_snapshot_1", OLD)


@pytest.mark.req("C-02")
@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"x": 1}, "x"),
        ({"tools": [{"name": "a"}, {"name": "a"}]}, "tools.1.name"),
        ({"tools": [{"name": ""}]}, "tools.0.name"),
        ({"tools": [{}]}, "tools.0.name"),
        ({"tools": {}}, "tools"),
        ({"tools": [{"name": "a", "input_schema": []}]}, "tools.0.input_schema"),
        ({"schema_version": 3}, "schema_version"),
        ({"schema_version": True}, "schema_version"),
        ({"captured_at": "yesterday"}, "captured_at"),
        ({"server_id": None}, "server_id"),
    ],
    ids=str,
)
def test_file_of_another_shape_is_refused_by_the_field(
    tmp_path: Path, change: dict[str, Any], field: str
) -> None:
    error = refused(written({**OLD, **change}, tmp_path))
    assert (error.code, error.field) == ("contract.invalid", field)
    assert str(tmp_path) in str(error)


@pytest.mark.req("C-02")
@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b'{"a": 1, "a": 2}',
        b"\xff\xfe",
        b'{"a": NaN}',
        b"[" * 1000 + b"]" * 1000,
    ],
    ids=lambda data: repr(data[:12]),
)
def test_file_that_is_no_json_is_refused_and_never_empty(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "weather.mcpc.json"
    path.write_bytes(data)
    assert refused(path).code == "contract.invalid"


@pytest.mark.promise("BR-03")
def test_snapshot_holds_all_that_the_server_says_and_reads_back(tmp_path: Path) -> None:
    found = taken(capture(**ALL))
    path = tmp_path / "weather.mcpc.json"
    path.write_text(text(found))
    again = read_snapshot(path)
    assert again == found
    assert again.digest == found.digest
    assert {tool["name"]: tool for tool in again.tools} == {
        tool["name"]: tool for tool in (FORECAST, STATIONS)
    }
    assert again.resource_templates == ALL["resourceTemplates"]
    demand("contract_snapshot", json.loads(text(found)))


@pytest.mark.req("C-03")
def test_snapshots_of_one_server_differ_in_their_time_alone() -> None:
    value = capture(**ALL)
    value["tools"].reverse()
    one, other = (
        from_capture(side, "weather", f"2026-01-01T0{hour}:00:00Z")
        for hour, side in enumerate((capture(**ALL), value))
    )
    lines = [text(side).splitlines() for side in (one, other)]
    assert [pair for pair in zip(*lines, strict=True) if pair[0] != pair[1]] == [
        ('  "captured_at": "2026-01-01T00:00:00Z",', '  "captured_at": "2026-01-01T01:00:00Z",')
    ]
    assert one.digest == other.digest


@pytest.mark.promise("BR-03", "M1")
@pytest.mark.parametrize("member", [*ALL, "tools"])
def test_digest_covers_each_member(member: str) -> None:
    value = capture(**ALL)
    rest: Any = [] if isinstance(value[member], list) else None
    assert taken({**value, member: rest}).digest != taken(value).digest


@pytest.mark.promise("BR-06")
def test_text_of_a_snapshot_shows_what_nobody_would_see() -> None:
    hidden = "a\u200b\u202e\U000e0041\ue000b → ⚠ é"
    found = taken(capture({**STATIONS, "description": hidden}))
    shown = text(found)
    assert r"a\u200b\u202e\udb40\udc41\ue000b → ⚠ é" in shown
    assert json.loads(shown)["tools"][0]["description"] == hidden


def test_capture_of_the_later_protocol_names_the_server_in_its_metadata() -> None:
    meta = {"io.modelcontextprotocol/serverInfo": {"name": "weather", "version": "2"}}
    found = taken(capture(_meta=meta, ttlMs=5, cacheScope="public", resultType="complete"))
    assert found.server_info == {"name": "weather", "version": "2"}


@pytest.mark.parametrize(
    ("value", "code"),
    [
        (
            {"jsonrpc": "2.0", "id": 1, "error": {"code": -32601, "message": "no"}},
            "contract.error_response",
        ),
        ({"error": "no"}, "contract.error_response"),
        ({"tools": [], "nextCursor": "2"}, "contract.incomplete"),
        ({"tools": [], "nextCursor": ""}, "contract.incomplete"),
        ({}, "contract.invalid"),
        ([], "contract.invalid"),
        ("x", "contract.invalid"),
        ({"tools": None}, "contract.invalid"),
        ({"tools": "x"}, "contract.invalid"),
        ({"tools": [5]}, "contract.invalid"),
        ({"tools": [{"name": 5}]}, "contract.invalid"),
        ({"tools": [{"name": "a", "inputSchema": "x"}]}, "contract.invalid"),
        ({"tools": [{"name": "a", "inputSchema": True}]}, "contract.invalid"),
        ({"tools": [{"name": "a", "outputSchema": []}]}, "contract.invalid"),
        ({"tools": [], "toolz": []}, "contract.invalid"),
        ({"tools": [], "prompts": [{}]}, "contract.invalid"),
        ({"tools": [], "instructions": 5}, "contract.invalid"),
    ],
    ids=str,
)
def test_what_is_no_capture_is_refused(value: Any, code: str) -> None:
    with pytest.raises(ContractError) as caught:
        taken(value)
    assert caught.value.code == code


@pytest.mark.promise("BR-05")
def test_snapshot_that_is_cut_off_anywhere_is_refused(tmp_path: Path) -> None:
    whole = text(taken(capture(STATIONS))).encode()
    path = tmp_path / "weather.mcpc.json"
    for length in range(len(whole) - 2):
        path.write_bytes(whole[:length])
        assert refused(path).code == "contract.invalid", length


@pytest.mark.promise("BR-05")
def test_snapshot_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    error = refused(tmp_path / "gone.mcpc.json")
    assert error.code == "file.unreadable"
    assert "gone.mcpc.json" in str(error)


@pytest.mark.promise("BR-05", "row 8")
@pytest.mark.parametrize("number", ["9007199254740992", "-9007199254740992", "9223372036854775807"])
def test_integer_of_a_schema_that_readers_disagree_on_is_refused_by_its_place(
    tmp_path: Path, number: str
) -> None:
    path = tmp_path / "capture.json"
    path.write_text(f'{{"tools": [{{"name": "a", "inputSchema": {{"maximum": {number}}}}}]}}')
    with pytest.raises(ContractError) as caught:
        read_json(path)
    assert caught.value.code == "contract.invalid"
    assert "2^53" in caught.value.message


def test_largest_integer_that_every_reader_holds_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "capture.json"
    tool = {"name": "a", "inputSchema": {"maximum": 2**53 - 1, "minimum": 1 - 2**53}}
    path.write_text(json.dumps({"tools": [tool]}))
    assert taken(read_json(path)).tools == [tool]


def test_number_that_no_reader_holds_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "capture.json"
    path.write_text('{"tools": [], "x": 12345678901234567890}')
    with pytest.raises(ContractError) as caught:
        read_json(path)
    assert caught.value.code == "contract.invalid"


@pytest.mark.promise("BR-06")
def test_names_that_differ_by_composition_only_are_two(tmp_path: Path) -> None:
    path = tmp_path / "capture.json"
    members = {"caf\u00e9": {"type": "string"}, "cafe\u0301": {"type": "string"}}
    schema = {"type": "object", "properties": members}
    path.write_text(json.dumps({"tools": [{"name": "a", "inputSchema": schema}]}))
    found: Snapshot = from_capture(read_json(path), "weather", "2026-01-01T00:00:00Z")
    assert found.tools[0]["inputSchema"]["properties"] == members
