"""One fault planted against each promise of reliability: a test of the promise turns red."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from support.edited_policy import edit_data, put_in_place
from support.ledger_parts import note, trail
from support.played_engine import says
from support.workshop import Workshop
from tipstaff.documents.verdict import Verdict
from tipstaff.engine import Engine, answer
from tipstaff.ledger.chain import Chain
from tipstaff.pdp.client import Client
from tipstaff.pdp.opa import Opa
from tipstaff.project import timestamp
from traceability.test_planted_faults import Plant, module, python, rego

HOSTILE, BOUND = "promises/test_hostile_documents.py", "promises/test_exact_bindings.py"
TRAIL = "promises/test_trail_figures.py"
ROW = "test_document_of_this_row_is_refused_by_its_code_and_never_asked_about"
OTHER_REVISION = says(
    {"effect": "allow"},
    provenance={"version": "1.22.3", "bundles": {"tipstaff": {"revision": "r0"}}},
)


def without_folds(patch: pytest.MonkeyPatch, tmp: Path) -> None:
    """Look-alikes that are not seen as such."""
    put_in_place(edit_data(tmp / "policy", {"paths": lambda data: data.update(folds={})}), patch)


def unrecorded_is_fine(_error: Any, question: Any, revision: str) -> Verdict:
    """A decision that could not be kept and counts all the same."""
    refusal = answer._verdict("deny", "engine.invalid", "x", question, revision)
    return refusal.model_copy(update={"effect": "allow"})


FAULTS: dict[str, tuple[Plant, str, str, dict[str, Any]]] = {
    "D1: any revision may answer": (
        python(Client, "_check", lambda *_: "1.22.3"),
        "engine/test_fail_closed.py",
        "test_engine_that_answers_badly_denies_in_time_and_on_record",
        {"fault": "another revision", "part": OTHER_REVISION, "code": "engine.revision"},
    ),
    "D8: any depth is read": (
        python("tipstaff.documents.strict_json", "MAX_DEPTH", 10**9),
        HOSTILE,
        ROW,
        {"row": "row 13"},
    ),
    "T3: the last of two keys is taken": (
        python("tipstaff.documents.strict_json", "_pairs", lambda _file, items: dict(items)),
        HOSTILE,
        ROW,
        {"row": "row 9"},
    ),
    "BR-17: all of nothing is allowed": (
        python(Engine, "decide_many", lambda *_: []),
        HOSTILE,
        "test_empty_batch_and_batch_with_one_bad_document_are_refused_whole",
        {},
    ),
    "BR-11: a path that climbs is a path": (
        rego("paths/control_plane.rego", "not _is_plain(path)", "path == null"),
        HOSTILE,
        "test_path_that_some_reader_takes_for_another_is_denied",
        {},
    ),
    "A1: an approval is for anything": (
        rego(
            "approval/approval.rego",
            "not _approval.digest == input.context.judged_sha256",
            "not _approval.digest",
        ),
        BOUND,
        "test_approval_is_for_no_action_that_differs_in_one_field",
        {"mutations": 400},
    ),
    "A4: the clock is an hour behind": (
        python(
            "tipstaff.ledger.approvals",
            "timestamp",
            lambda instant: timestamp(instant - timedelta(minutes=10)),
        ),
        BOUND,
        "test_answer_around_the_very_end_counts_only_before_it",
        {"cases": 20},
    ),
    "A6: text is shown raw": (
        python("tipstaff.documents.text", "_shown", lambda character, _multiline: character),
        BOUND,
        "test_hostile_text_is_shown_escaped_and_on_its_own_line",
        {},
    ),
    "A8: only the exact name is protected": (
        without_folds,
        BOUND,
        "test_look_alike_of_a_name_never_passes",
        {},
    ),
    "L1: contents are not looked at": (
        python(Chain, "_complaint", lambda *_: None),
        TRAIL,
        "test_every_structural_edit_is_found_at_its_line",
        {"edits": 7},
    ),
    "L3: links are not looked at": (
        python(Chain, "_unlinked", lambda *_: None),
        TRAIL,
        "test_every_forged_link_in_the_middle_is_found",
        {"forgeries": 20},
    ),
    "L5: what is not on record counts": (
        python("tipstaff.engine.answer", "unpersisted", unrecorded_is_fine),
        "engine/test_on_record.py",
        "test_decision_that_cannot_be_appended_carries_nothing_out",
        {},
    ),
    "L7: forms of secrets are not known": (
        python("tipstaff.documents.redaction", "_FORMS", ()),
        "promises/test_secrets.py",
        "test_secret_in_this_form_is_taken_out_and_the_rest_stays",
        {"form": "github"},
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_planted_fault_turns_a_test_of_the_promise_red(
    workshop: Workshop, opa: Opa, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, fault: str
) -> None:
    plant, path, name, values = FAULTS[fault]
    test: Callable[..., None] = getattr(module(path), name)
    given: dict[str, Any] = {
        "workshop": workshop,
        "monkeypatch": monkeypatch,
        "opa": opa,
        "tmp_path": tmp_path,
        "record_property": lambda *_: None,
    }
    wanted = test.__code__.co_varnames[: test.__code__.co_argcount]
    if "sound" in wanted:
        with trail(tmp_path) as given["sound"]:
            given["sound"].append(*[note(str(number)) for number in range(12)])
    plant(monkeypatch, tmp_path)
    with pytest.raises((AssertionError, IndexError, pytest.fail.Exception)):
        test(**{key: given[key] for key in wanted if key in given}, **values)
