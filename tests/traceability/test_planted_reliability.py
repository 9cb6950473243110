"""One fault planted against each promise of reliability: a test of the promise turns red."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from support.edited_policy import edit_data, put_in_place
from support.ledger_parts import note, trail
from support.workshop import Workshop
from tipstaff.documents.verdict import Verdict
from tipstaff.engine import Engine, answer
from tipstaff.errors import Error
from tipstaff.ledger import verification
from tipstaff.ledger.chain import Chain
from tipstaff.ledger.writer import Writer
from tipstaff.pdp import plan as planning
from tipstaff.pdp.opa import Opa
from tipstaff.project import timestamp
from traceability.test_planted_faults import Plant, module, python, rego

HOSTILE, BOUND = "promises/test_hostile_documents.py", "promises/test_exact_bindings.py"
TRAIL = "promises/test_trail_figures.py"
ROW = "test_document_of_this_row_is_refused_by_its_code_and_never_asked_about"


def without_folds(patch: pytest.MonkeyPatch, tmp: Path) -> None:
    """Look-alikes that are not seen as such."""
    put_in_place(edit_data(tmp / "policy", {"paths": lambda data: data.update(folds={})}), patch)


def unrecorded_is_fine(_error: Any, question: Any, revision: str) -> Verdict:
    """A decision that could not be kept and counts all the same."""
    refusal = answer._verdict("deny", "engine.invalid", "x", question, revision)
    return refusal.model_copy(update={"effect": "allow"})


def without_locks(patch: pytest.MonkeyPatch, tmp: Path) -> None:
    """Processes that ask for a lock and go on without it."""
    (tmp / "early").mkdir()
    (tmp / "early" / "sitecustomize.py").write_text("import fcntl\nfcntl.flock = lambda *_: None\n")
    patch.setenv("PYTHONPATH", str(tmp / "early"))


def onto_torn_bytes(patch: pytest.MonkeyPatch, _tmp: Path) -> None:
    """A writer that does not look at how the file ends."""
    sealed = Writer._sealed
    patch.setattr(Writer, "_sealed", lambda self, new, *_: sealed(self, new, None, b""))


def with_every_signature(patch: pytest.MonkeyPatch, _tmp: Path) -> None:
    """A proof that checks whatever was ever signed."""
    collect = verification._collect
    patch.setattr(
        verification,
        "_collect",
        lambda told, witness, name, checked: collect(told, witness, name, checked=True),
    )


def with_decision_log(patch: pytest.MonkeyPatch, _tmp: Path) -> None:
    """An engine that logs what it decides."""
    config = planning._config
    patch.setattr(
        planning, "_config", lambda bundles: {**config(bundles), "decision_logs": {"console": True}}
    )


FAULTS: dict[str, tuple[Plant, str, str, dict[str, Any]]] = {
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
    "L2: the witness hears of nothing but the end": (
        python(Writer, "_is_due", lambda _: False),
        TRAIL,
        "test_witness_hears_of_the_head_each_minute_and_each_thousand_records",
        {},
    ),
    "L2: nobody asks the witness": (
        python(verification, "_collect", lambda *_, **__: None),
        TRAIL,
        "test_every_split_view_is_found",
        {"splits": 1},
    ),
    "L3: links are not looked at": (
        python(Chain, "_unlinked", lambda *_: None),
        TRAIL,
        "test_every_forged_link_in_the_middle_is_found",
        {"forgeries": 20},
    ),
    "L4: writers do not wait for each other": (
        without_locks,
        TRAIL,
        "test_writers_of_which_some_are_killed_make_one_chain",
        {"size": (1, 6, 100)},
    ),
    "L5: what is not on record counts": (
        python("tipstaff.engine.answer", "unpersisted", unrecorded_is_fine),
        "engine/test_on_record.py",
        "test_decision_that_cannot_be_appended_carries_nothing_out",
        {},
    ),
    "L6: the next record goes onto a torn one": (
        onto_torn_bytes,
        TRAIL,
        "test_crash_at_an_offset_of_the_last_three_records_costs_no_whole_one",
        {"step": 50},
    ),
    "L7: forms of secrets are not known": (
        python("tipstaff.documents.redaction", "_FORMS", ()),
        "promises/test_secrets.py",
        "test_secret_in_this_form_is_taken_out_and_the_rest_stays",
        {"form": "github"},
    ),
    "L8: the engine logs decisions": (
        with_decision_log,
        "promises/test_failing_rules.py",
        "test_engine_keeps_no_log_of_decisions_and_the_trail_is_whole",
        {},
    ),
    "L9: every signature is checked each time": (
        with_every_signature,
        TRAIL,
        "test_proving_looks_at_each_line_once_and_checks_one_signature",
        {},
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_planted_fault_turns_a_test_of_the_promise_red(
    workshop: Workshop, opa: Opa, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, fault: str
) -> None:
    plant, path, name, values = FAULTS[fault]
    given = {"workshop": workshop, "opa": opa, "monkeypatch": monkeypatch, "tmp_path": tmp_path}
    if path == TRAIL:
        with trail(tmp_path) as given["sound"]:
            given["sound"].append(*[note(str(number)) for number in range(12)])
    plant(monkeypatch, tmp_path)
    demand_red(path, name, {**given, **values})


def wanted(path: str, name: str) -> tuple[str, ...]:
    """The names of what a test wants."""
    code = getattr(module(path), name).__code__
    return code.co_varnames[: code.co_argcount]


def demand_red(path: str, name: str, given: dict[str, Any]) -> None:
    """Call a test with what it wants of this; it must fail."""
    test: Callable[..., None] = getattr(module(path), name)
    given = {**given, "record_property": lambda *_: None}
    with pytest.raises((AssertionError, IndexError, Error, pytest.fail.Exception)):
        test(**{key: given[key] for key in wanted(path, name)})
