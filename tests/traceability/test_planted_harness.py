"""One fault planted against each promise of the governed harness: a test of the promise turns red."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tipstaff.ledger.approval_file import ApprovalFile
from tipstaff.ledger.modifications import Modifications
from traceability.test_planted_faults import Plant, python, rego
from traceability.test_planted_reliability import demand_red

BINDINGS, KILLED = "harness/test_bindings.py", "harness/test_killed.py"

FAULTS: dict[str, tuple[Plant, str, str, dict[str, Any]]] = {
    "A1, T1, BR-19, row 71, row 72: an approval is of nothing in particular": (
        python("tipstaff.harness.facts", "content_sha256", lambda *_: "0" * 64),
        BINDINGS,
        "test_approval_is_of_who_asked",
        {},
    ),
    "A3, row 76, ahead 11: a decision that was given is not found again": (
        python(ApprovalFile, "get", lambda *_: None),
        KILLED,
        "test_promotion_killed_at_each_durable_act_is_made_by_the_next_run",
        {},
    ),
    "A7, row 85: an id stands for whatever comes": (
        python(Modifications, "keep", lambda *given: given[-1]),
        KILLED,
        "test_of_two_sources_that_race_for_one_id_one_is_promoted",
        {"rounds": 1},
    ),
    "A4, BR-21, row 73: an approval never ends": (
        rego("approval/approval.rego", "\tnot _in_time\n", "\tinput.never\n"),
        BINDINGS,
        "test_approval_counts_in_its_time_once_and_given_by_a_person",
        {},
    ),
    "A5, BR-22, ahead 13, row 77: who measured may approve": (
        rego(
            "modification/approval/approval.rego",
            '["before_attestation", "after_attestation"]',
            "[]",
        ),
        BINDINGS,
        "test_who_proposes_who_approves_and_who_measures_are_different_people",
        {},
    ),
    "A8, BR-29, row 86: any target will do": (
        rego("modification/gate/gate.rego", "\tcount(refused) > 0\n", "\tcount(refused) > 99\n"),
        "harness/test_targets.py",
        "test_target_that_judges_changes_is_out_of_reach_in_every_spelling",
        {"number": 1},
    ),
    "ahead 12: what a rehearsal leaves is not looked at": (
        python("tipstaff.harness.rollback", "_wrong", lambda *_: []),
        BINDINGS,
        "test_rollback_that_restores_all_but_one_mode_is_refused",
        {},
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_planted_fault_turns_a_test_of_the_harness_red(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: str
) -> None:
    plant, path, name, values = FAULTS[fault]
    folder = tmp_path / "folder"
    folder.mkdir()
    plant(monkeypatch, tmp_path)
    given = {"folder": folder, "tmp_path": folder, "monkeypatch": monkeypatch}
    demand_red(path, name, {**given, **values})
