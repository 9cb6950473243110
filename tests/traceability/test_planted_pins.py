"""One fault planted against each promise about committed snapshots: a test of the promise turns red."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from support.edited_policy import edit_data, put_in_place
from support.pinned import Pinned
from support.workshop import Workshop
from tipstaff.documents.contract import Snapshot, text
from tipstaff.documents.input import Actor
from tipstaff.drift import server
from tipstaff.drift.candidates import Candidate, Candidates, Sighting
from tipstaff.healing.pins.baseline import Baseline, pin_path
from traceability.test_planted_faults import Plant, module, python
from traceability.test_planted_reliability import demand_red

CHECKS, ACCEPTANCE = "cli/test_contract_checks.py", "cli/test_contract_acceptance.py"
CANARIES, SCREEN = "cli/test_contract_canaries.py", "drift/test_screen.py"


def data(package: str, **members: Any) -> Plant:
    """A policy whose data says something else."""

    def plant(patch: pytest.MonkeyPatch, tmp: Path) -> None:
        put_in_place(
            edit_data(tmp / "policy", {package: lambda value: value.update(members)}), patch
        )

    return plant


def descriptions_are_labels(patch: pytest.MonkeyPatch, tmp: Path) -> None:
    """A policy to which what a model reads is for information."""
    label = [{"if": {}, "severity": "info", "authority": "none"}]

    def regrade(value: Any) -> None:
        value["cases"]["description_changed"] = label

    put_in_place(edit_data(tmp / "policy", {"contract": regrade}), patch)


def keep_as_pin(self: Candidates, found: Snapshot, seen_by: Actor) -> Path:
    """A check that takes what it finds for what is committed."""
    path = pin_path(self._state.parent, found.server_id)
    path.write_text(text(found))
    return path


def any_candidate(self: Candidates, name: str, digest: str) -> Candidate | None:
    """A store that hands out whatever it has."""
    from tipstaff.documents.contract import altered, read_snapshot

    file = next((self._state / "contracts" / name).glob("*.mcpc.json"))
    found = altered(read_snapshot(file), server_id=name)
    found.__dict__["digest"] = digest
    by = Sighting(
        schema_version=1, seen_by=Actor(id="x", type="human"), seen_at="2026-01-01T00:00:00Z"
    )
    return Candidate(found, by)


def none_there(root: Path, name: str) -> Baseline:
    """A reader to whom a damaged snapshot is none."""
    return Baseline(name, pin_path(root, name), "unbaselined")


FAULTS: dict[str, tuple[Plant, str, str, dict[str, Any]]] = {
    "BR-04, ahead 2: a check moves the snapshot": (
        python(Candidates, "keep", keep_as_pin),
        CHECKS,
        "test_ten_checks_after_drift_find_it_ten_times_and_leave_the_file_alone",
        {},
    ),
    "BR-05: no snapshot is success": (
        data("contract", failing=["untrusted"]),
        CHECKS,
        "test_server_without_a_snapshot_is_no_success_and_gets_none",
        {},
    ),
    "BR-05, row 115: a damaged snapshot is none": (
        python("tipstaff.healing.pins.checking", "read_baseline", none_there),
        CHECKS,
        "test_snapshot_that_cannot_be_read_blocks_and_is_never_trusted_anew",
        {"state": "truncated"},
    ),
    "row 115: a damaged snapshot is replaced": (
        python("tipstaff.healing.pins.acceptance", "read_baseline", none_there),
        ACCEPTANCE,
        "test_snapshot_that_cannot_be_read_is_not_replaced",
        {"damage": "{"},
    ),
    "row 116: how a server was started is not compared": (
        python(server, "_MEMBERS", {"server_info": "/serverInfo"}),
        CHECKS,
        "test_another_command_under_the_same_name_is_drift",
        {},
    ),
    "row 108: descriptions are no words": (
        descriptions_are_labels,
        CHECKS,
        "test_warning_fails_only_who_asked_for_it_and_is_drift_either_way",
        {},
    ),
    "row 109: an order is a difference": (
        python("tipstaff.documents.capture", "in_order", lambda found: found),
        CHECKS,
        "test_tools_in_another_order_are_no_drift_and_a_new_one_is",
        {},
    ),
    "ahead 2: an agent accepts": (
        data("acceptance", actors=["human", "agent", "ci"]),
        ACCEPTANCE,
        "test_agent_and_ci_move_nothing",
        {"variable": "CLAUDECODE", "type": "agent"},
    ),
    "ahead 2: any bytes will do": (
        python(Candidates, "find", any_candidate),
        ACCEPTANCE,
        "test_digest_that_nobody_was_shown_moves_nothing",
        {},
    ),
    "ahead 3: a look-alike is shown as it is": (
        python("tipstaff.drift.screen", "prototype", lambda character: character),
        SCREEN,
        "test_no_two_contracts_render_alike",
        {},
    ),
    "BR-09, row 113: a grant outlives its tool": (
        python("tipstaff.healing.pins.canaries", "_renewed", lambda canary, _: canary),
        CANARIES,
        "test_grant_of_a_call_ends_with_the_tool_that_it_was_given_for",
        {},
    ),
    "BR-09, row 113: a hint suffices for a call": (
        data("canary", harmless_hints={}),
        CANARIES,
        "test_tool_that_may_change_something_is_called_with_a_persons_grant_only",
        {},
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_planted_fault_turns_a_test_of_the_promise_red(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, request: pytest.FixtureRequest, fault: str
) -> None:
    plant, path, name, values = FAULTS[fault]
    given: dict[str, Any] = {"tmp_path": tmp_path, "monkeypatch": monkeypatch, **values}
    if path != SCREEN:
        workshop: Workshop = request.getfixturevalue("workshop")
        given["pinned"] = pinned = Pinned.laid(workshop, monkeypatch)
        if path == ACCEPTANCE:
            given["kept"] = module(path).lay(pinned)
        if path == CANARIES:
            module(path).lay(pinned)
    plant(monkeypatch, tmp_path)
    demand_red(path, name, given)
