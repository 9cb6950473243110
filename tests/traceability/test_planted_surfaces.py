"""One fault planted against each promise about the surfaces: a test of the promise turns red."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from support.hosts import caller
from support.workshop import Workshop
from tipstaff.documents.base import parse
from tipstaff.documents.input import Actor
from tipstaff.surfaces import tools
from tipstaff.surfaces.calls import Desk
from tipstaff.surfaces.confinement import Confinement
from tipstaff.surfaces.principal import Principal
from traceability.test_planted_faults import Plant, module, python
from traceability.test_planted_pins import data
from traceability.test_planted_reliability import demand_red, wanted

CONFINED, AUTHORITY = "surfaces/test_confinement.py", "surfaces/test_authority.py"
STDIO = "surfaces/test_tools_over_stdio.py"


def only_what_is_known(model: Any, value: Any, **more: Any) -> Any:
    """A reader that overlooks what it does not know."""
    return parse(model, {name: value[name] for name in model.model_fields if name in value}, **more)


def refusals_untold(engine: Any, tool: str, decision: Any, detail: Any) -> Any:
    """A desk that keeps no record of what it refuses."""
    return None if decision == "refused" else RECORD(engine, tool, decision, detail)


def by_letters(real: Path, lists: list[list[Path]], refused: Exception) -> None:
    """A path that is taken for a text."""
    if not all(any(str(real).startswith(str(each)) for each in folders) for folders in lists):
        raise refused


RECORD = Desk._record
FAULTS: dict[str, tuple[Plant, str, str, dict[str, Any]]] = {
    "M-03: a prefix ends anywhere": (
        python(
            "tipstaff.surfaces.confinement",
            "_is_listed",
            lambda name, entries: any(entry and name.startswith(entry) for entry in entries),
        ),
        CONFINED,
        "test_reference_that_is_not_on_every_list_is_refused_before_it_is_looked_for",
        {"field": "prover"},
    ),
    "M-03: one list suffices": (
        python(Confinement, "_set", lambda self, names: [self.environment.get(names[0], "")]),
        CONFINED,
        "test_reference_that_is_on_every_list_is_asked",
        {},
    ),
    "X-33: strict references are not": (
        python(Confinement, "demand_references", lambda *_: None),
        CONFINED,
        "test_command_line_asks_any_reference_tells_it_and_is_strict_where_it_is_told_to_be",
        {},
    ),
    "M-04: a folder is what its name begins with": (
        python(Confinement, "_demand_inside", staticmethod(by_letters)),
        CONFINED,
        "test_file_outside_the_listed_folders_is_refused_and_nothing_of_it_is_told",
        {},
    ),
    "M-04: any folder is written to": (
        python(Confinement, "_demand_inside", lambda *_: None),
        CONFINED,
        "test_report_is_written_below_every_listed_folder_and_nowhere_else",
        {"theirs": None},
    ),
    "AP-06: a specification's store counts": (
        python(Confinement, "store", lambda self, named, folder: named),
        CONFINED,
        "test_only_the_operators_store_counts_whatever_a_specification_names",
        {},
    ),
    "M5, row 117: what is said of a caller is overlooked": (
        python("tipstaff.surfaces.governed_harness", "parse", only_what_is_known),
        AUTHORITY,
        "test_no_forged_argument_of_any_caller_of_any_tool_gains_anything",
        {},
    ),
    "M-08: a caller may be a person": (
        python(
            Principal, "actor", property(lambda self: Actor.model_construct(id="x", type="human"))
        ),
        AUTHORITY,
        "test_proposal_is_from_an_untrusted_source_whatever_it_claims",
        {"claim": "user_originated"},
    ),
    "M-07: looking is running": (
        data("access", tools={"read": {"governed_harness": {"plans_only": False}}}),
        AUTHORITY,
        "test_reader_plans_and_runs_nothing",
        {},
    ),
    "M-07: a refusal is not on record": (
        python(Desk, "_record", staticmethod(refusals_untold)),
        AUTHORITY,
        "test_each_call_leaves_one_record_of_itself_whatever_becomes_of_it",
        {},
    ),
    "M-06: one more tool": (
        python(tools, "TOOLS", (*tools.TOOLS, tools.Tool("approve", "", "", {}, True))),
        AUTHORITY,
        "test_no_tool_has_a_name_or_an_argument_of_a_persons_act",
        {},
    ),
    "M8: each delivery asks anew": (
        python(
            "tipstaff.ledger.approval_store",
            "key_of",
            lambda content, _: f"{uuid4().hex}:{content}",
        ),
        AUTHORITY,
        "redelivered",
        {"calls": 1, "times": 2},
    ),
    "row 119: the last of two keys is taken": (
        python("tipstaff.documents.strict_json", "_pairs", lambda *given: dict(given[-1])),
        STDIO,
        "test_bad_message_is_rejected_before_anything_acts_on_it",
        {"line": "a key twice"},
    ),
    "row 119: an id may be of any length": (
        python("tipstaff.surfaces.stdio", "MAX_ID", 1 << 24),
        STDIO,
        "test_bad_message_is_rejected_before_anything_acts_on_it",
        {"line": "an id of a million characters"},
    ),
    "row 120: secrets stay in": (
        python("tipstaff.surfaces.calls", "redact", lambda value: value),
        AUTHORITY,
        "test_foreign_text_is_labelled_and_a_secret_in_it_is_taken_out",
        {},
    ),
    "row 120: foreign text is not labelled": (
        python("tipstaff.surfaces.governed_harness", "_UNTRUSTED", ()),
        AUTHORITY,
        "test_foreign_text_is_labelled_and_a_secret_in_it_is_taken_out",
        {},
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_planted_fault_turns_a_test_of_the_promise_red(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, request: pytest.FixtureRequest, fault: str
) -> None:
    plant, path, name, values = FAULTS[fault]
    given: dict[str, Any] = {
        **{"tmp_path": tmp_path, "monkeypatch": monkeypatch, "patch": monkeypatch},
        **values,
    }
    if path != STDIO:
        workshop: Workshop = request.getfixturevalue("workshop")
        given |= {"workshop": workshop, "agent": caller(workshop), "asked": []}
        if "asked" in wanted(path, name):
            module(path).note_asked(monkeypatch, given["asked"])
    plant(monkeypatch, tmp_path)
    demand_red(path, name, given)
