"""How `tipstaff.yaml` names MCP servers: exactly one way to reach each, and no secret in the file."""

from __future__ import annotations

from typing import Any

import pytest

from tipstaff.documents.base import parse
from tipstaff.documents.config import TeamConfig
from tipstaff.drift.observing.target import Target
from tipstaff.errors import ContractError

ADDRESS = "https://host.example/mcp"


def configured(server: Any, name: str = "time") -> TeamConfig:
    value = {"schema_version": 1, "contracts": {"servers": {name: server}}}
    return parse(TeamConfig, value, file="tipstaff.yaml")


def test_server_is_a_command_or_an_address_with_names_of_variables() -> None:
    time = {"command": ["mcp-server-time"], "environment": ["TZ"], "client_capabilities": ["roots"]}
    found = configured(time).contracts
    assert found is not None
    assert Target.configured("time", found.servers["time"]) == Target(
        "time", ("mcp-server-time",), environment=("TZ",), client_capabilities=("roots",)
    )
    web = {"url": ADDRESS, "headers": {"Authorization": "WEB_TOKEN"}}
    assert configured(web).contracts.servers["time"].headers == {"Authorization": "WEB_TOKEN"}  # type: ignore[union-attr]


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "[::1]", "127.8.9.1"])
def test_plain_http_is_for_loopback(host: str) -> None:
    assert configured({"url": f"http://{host}:8000/mcp"})


@pytest.mark.parametrize(
    ("server", "field"),
    [
        ({}, ""),
        ({"command": ["x"], "url": ADDRESS}, ""),
        ({"command": []}, ".command"),
        ({"command": [""]}, ".command"),
        ({"command": ["  "]}, ".command"),
        ({"command": ["x", "a\0b"]}, ".command"),
        ({"command": "mcp-server-time"}, ".command"),
        ({"url": ""}, ".url"),
        ({"url": "ftp://host/mcp"}, ".url"),
        ({"url": "file:///etc/passwd"}, ".url"),
        ({"url": "https://"}, ".url"),
        ({"url": "https://host:99999/"}, ".url"),
        ({"url": "https://host/a b"}, ".url"),
        ({"url": "https://user:secret@host/"}, ".url"),
        ({"url": "https://host/#tools"}, ".url"),
        ({"url": "http://host.example/mcp"}, ".url"),
        ({"url": "http://127.0.0.1.example/mcp"}, ".url"),
        ({"url": ADDRESS, "headers": {"Authorization": "Bearer s3cret"}}, ".headers.Authorization"),
        ({"url": ADDRESS, "headers": {"A b": "TOKEN"}}, ".headers.A b"),
        ({"url": ADDRESS, "headers": {"Host": "TOKEN"}}, ".headers.Host"),
        ({"url": ADDRESS, "headers": {"Mcp-Session-Id": "TOKEN"}}, ".headers.Mcp-Session-Id"),
        ({"url": ADDRESS, "headers": {"X-A": "ONE", "x-a": "TWO"}}, ""),
        ({"url": ADDRESS, "environment": ["TZ"]}, ""),
        ({"command": ["x"], "headers": {"X-A": "ONE"}}, ""),
        ({"command": ["x"], "environment": ["TZ=UTC"]}, ".environment"),
        ({"command": ["x"], "environment": ["TZ", "TZ"]}, ".environment"),
        ({"command": ["x"], "environment": ["PATH"]}, ".environment"),
        ({"command": ["x"], "client_capabilities": ["tools"]}, ".client_capabilities.0"),
        ({"command": ["x"], "client_capabilities": ["roots", "roots"]}, ".client_capabilities"),
        ({"command": ["x"], "arguments": []}, ".arguments"),
    ],
)
def test_server_that_cannot_be_used_is_refused_by_field_and_fix(server: Any, field: str) -> None:
    with pytest.raises(ContractError) as refusal:
        configured(server)
    assert refusal.value.code == "document.invalid"
    assert refusal.value.field == f"contracts.servers.time{field}"
    assert refusal.value.fix
    assert "s3cret" not in str(refusal.value) and "user:secret" not in str(refusal.value)


@pytest.mark.parametrize("name", ["", "../up", "a/b", "a b", ".hidden", "x" * 101])
def test_name_that_is_no_file_name_is_refused(name: str) -> None:
    with pytest.raises(ContractError, match="file's name"):
        configured({"command": ["x"]}, name)
