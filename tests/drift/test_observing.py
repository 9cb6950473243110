"""A live server is captured whole and exactly, in the sandbox, and twice the same."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from support.observing import modern, raw, seen

ADVERTISED = {"name", "title", "description", "inputSchema", "outputSchema", "annotations", "icons"}


@pytest.mark.req("C-01", "C-03", "C-04", "KG-07")
def test_all_that_a_server_says_is_in_its_snapshot(tmp_path: Path) -> None:
    found = seen(modern(), root=tmp_path)
    contract = found.snapshot
    assert [tool["name"] for tool in contract.tools] == ["forecast", "stations"]
    assert contract.tools[0].keys() >= ADVERTISED | {"_meta"}
    assert contract.tools[0]["_meta"]["example.org/unit"] == "celsius"
    assert [prompt["name"] for prompt in contract.prompts] == ["summary"]
    assert [resource["uri"] for resource in contract.resources] == ["weather://stations"]
    assert [each["uriTemplate"] for each in contract.resource_templates] == [
        "weather://station/{name}"
    ]
    assert contract.instructions == "Ask for the forecast first."
    assert (contract.server_info or {})["name"] == "weather"
    assert (found.report.era, contract.protocol_version) == ("discover", "2026-07-28")
    assert contract.source.dependencies["mcp"]
    assert found.report.sandbox and "network" in found.report.sandbox.held
    assert not found.report.attempts and not found.report.noise_lines


@pytest.mark.req("C-03")
def test_old_server_is_greeted_in_the_old_way_and_gives_the_same_bytes_again(
    tmp_path: Path,
) -> None:
    first, second = (seen(raw("plain"), root=tmp_path) for _ in range(2))
    assert (first.report.era, first.snapshot.protocol_version) == ("initialize", "2025-06-18")
    assert first.snapshot.digest == second.snapshot.digest
    assert first.snapshot.captured_at != second.snapshot.captured_at


def test_what_the_client_declares_is_recorded_with_what_it_brings_and_no_password(
    tmp_path: Path,
) -> None:
    target = raw("capable")
    password = "postgresql://app:Kestrel7@db/x"
    target = replace(target, command=(*(target.command or ()), password))
    target = replace(target, client_capabilities=("roots", "sampling", "elicitation"))
    found = seen(target, root=tmp_path).snapshot
    assert [tool["name"] for tool in found.tools][2:] == [
        "uses_elicitation",
        "uses_roots",
        "uses_sampling",
    ]
    assert found.source.client_capabilities.keys() == {"roots", "sampling", "elicitation"}
    assert found.source.arguments[-1] == "postgresql://[redacted]@db/x"
