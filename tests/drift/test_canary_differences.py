"""Recorded calls are part of a contract: what differs in one is found, and a new grant is said to be one."""

from __future__ import annotations

from typing import Any

import pytest

from support.contracts import capture, taken
from tipstaff.documents.canary import Canary
from tipstaff.documents.contract import Snapshot, altered, snapshot
from tipstaff.drift.diff import diff
from tipstaff.errors import ContractError


def canary(name: str = "c1", **members: Any) -> Canary:
    """A canary of the forecast."""
    given = {"id": name, "tool": "get_forecast", "fingerprint": "0" * 64, "runs": 8, **members}
    return Canary(**given)


def holding(*canaries: Canary) -> Snapshot:
    """A contract with these canaries."""
    return altered(taken(capture()), canaries=list(canaries))


@pytest.mark.req("C-13", "C-14")
@pytest.mark.parametrize(
    ("member", "value", "kind"),
    [
        ("fingerprint", "1" * 64, "behaviour_changed"),
        ("stable", False, "canary_unstable"),
        ("arguments", {"place": "Bonn"}, "server_changed"),
        ("masks", ["/ts"], "server_changed"),
        ("runs", 9, "server_changed"),
        ("tool", "list_stations", "server_changed"),
        ("granted", True, "server_changed"),
    ],
)
def test_whatever_differs_in_a_canary_is_found_and_names_it(
    member: str, value: Any, kind: str
) -> None:
    old, new = holding(canary(), canary("c2")), holding(canary(), canary("c2", **{member: value}))
    assert old.digest != new.digest
    [change] = diff(old, new)
    assert change.kind == kind
    assert change.path.startswith(f"/canaries/c2/{member}")
    assert change.facts.get("now") == (True if member == "granted" else None)
    assert diff(new, old)
    assert not diff(new, new)


def test_canary_more_is_a_change_and_a_granted_one_is_told_apart() -> None:
    for granted in (False, True):
        [change] = diff(holding(), holding(canary(granted=granted)))
        assert (change.kind, change.path) == ("server_changed", "/canaries/c1")
        assert change.facts.get("now") == (True if granted else None)
        [change] = diff(holding(canary(granted=granted)), holding())
        assert "now" not in change.facts


@pytest.mark.parametrize(
    "canaries",
    [
        [canary().model_dump(), canary().model_dump()],
        [{**canary().model_dump(), "masks": ["ts"]}],
        [{**canary().model_dump(), "masks": [""]}],
        [{**canary().model_dump(), "fingerprint": "0"}],
        [{**canary().model_dump(), "runs": 0}],
        [{**canary().model_dump(), "more": 1}],
    ],
)
def test_canary_of_another_shape_is_no_contract(canaries: Any) -> None:
    with pytest.raises(ContractError):
        snapshot({**taken(capture()).model_dump(), "canaries": canaries})
