"""Versions that servers and tools declare of their contract, in the shapes that were proposed to MCP."""

from __future__ import annotations

from typing import Any

import pytest

from support.contracts import STATIONS, capture, gist, taken
from tipstaff.drift.diff import diff
from tipstaff.drift.versions import declared_versions


def steps(old: Any, new: Any) -> list[tuple[str | None, str, str, str]]:
    """Of what, before, after, and the step, of each declared version."""
    found = declared_versions(taken(old), taken(new))
    return [(one["tool"], one["before"], one["after"], one["bump"]) for one in found]


@pytest.mark.req("C-21", "KG-05")
@pytest.mark.parametrize(
    ("before", "after", "step"),
    [
        ("1.2.3", "1.2.3", "none"),
        ("1.2.3", "1.2.4", "patch"),
        ("1.2.3", "1.3.0", "minor"),
        ("1.2.3", "2.0.0-rc.1+build.5", "major"),
        ("v1.2.3", "1.3.0", "minor"),
        ("2.0.0", "1.9.9", "down"),
        ("2025-11-25", "2026-07-28", "other"),
        ("latest", "1.0.0", "other"),
    ],
)
def test_version_of_a_tool_moves_by_a_step(before: str, after: str, step: str) -> None:
    sides = [capture({**STATIONS, "version": version}) for version in (before, after)]
    assert steps(*sides) == [("list_stations", before, after, step)]


@pytest.mark.req("C-21")
@pytest.mark.parametrize(
    "place",
    [
        lambda version: {"serverInfo": {"name": "w", "version": "9", "contractVersion": version}},
        lambda version: {"serverInfo": {"name": "w", "_meta": {"contract_version": version}}},
        lambda version: {"capabilities": {"tools": {}, "contractVersion": version}},
    ],
    ids=["server information", "metadata", "capabilities"],
)
def test_version_of_a_server_is_read_where_it_is_declared(place: Any) -> None:
    sides = [capture(**place(version)) for version in ("1.0.0", "1.1.0")]
    assert steps(*sides) == [(None, "1.0.0", "1.1.0", "minor")]


@pytest.mark.req("C-21")
def test_version_that_only_one_side_declares_is_a_change_and_no_step() -> None:
    sides = [capture(STATIONS), capture({**STATIONS, "version": "1.0.0"})]
    assert steps(*sides) == []
    assert gist(diff(*map(taken, sides))) == [("annotation_changed", "/version")]


@pytest.mark.req("C-21")
@pytest.mark.parametrize("version", [5, None, "", ["1.0.0"], {"a": 1}])
def test_version_that_is_no_text_is_none(version: Any) -> None:
    sides = [capture({**STATIONS, "version": one}) for one in ("1.0.0", version)]
    assert steps(*sides) == []


@pytest.mark.parametrize("after", ["2.0.0", "1.4.1", "2026-07-28"])
def test_version_of_the_protocol_is_none_of_the_contract_however_it_is_written(after: str) -> None:
    sides = [capture(protocolVersion=version) for version in ("1.4.0", after)]
    assert steps(*sides) == []
    [found] = diff(*map(taken, sides))
    assert (found.path, found.facts["about"]) == ("/protocolVersion", "protocolVersion")
