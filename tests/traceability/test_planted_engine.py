"""One fault planted against each promise about the engine: a test of the promise turns red."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from support import corruption
from support.edited_policy import edit_data, put_in_place
from support.played_engine import says
from support.policies import build_policy
from tipstaff.errors import DecisionError
from tipstaff.pdp import plan as planning
from tipstaff.pdp import sidecar
from tipstaff.pdp.client import Answer, Client
from tipstaff.pdp.opa import Opa
from tipstaff.pdp.plan import Plan
from traceability.test_planted_faults import Plant, python, rego
from traceability.test_planted_reliability import HOSTILE, ROW, demand_red, wanted

FAIL_CLOSED, FAILING = "engine/test_fail_closed.py", "promises/test_failing_rules.py"
SURFACE = "pdp/test_sidecar_surface.py"
OTHER_REVISION = says(
    {"effect": "allow"},
    provenance={"version": "1.22.3", "bundles": {"tipstaff": {"revision": "r0"}}},
)


def with_last_answer(patch: pytest.MonkeyPatch, _tmp: Path) -> None:
    """A client that gives the last answer once more when there is none."""
    ask, answers = Client.ask, list[Answer]()

    def remembering(self: Client, entrypoint: str, body: bytes) -> Answer:
        try:
            answers.append(ask(self, entrypoint, body))
        except DecisionError:
            if not answers:
                raise
        return answers[-1]

    patch.setattr(Client, "ask", remembering)


def with_all_builtins(patch: pytest.MonkeyPatch, tmp: Path) -> None:
    """A policy that may use whatever the engine can do."""
    folder = edit_data(tmp / "policy", {})
    opa = Opa(Path(os.environ["TIPSTAFF_OPA"]), "1.22.3")
    everything = opa.run(["capabilities", "--current"]).stdout
    (folder / "capabilities.json").write_bytes(everything)
    put_in_place(folder, patch)


def missing_is_fine(patch: pytest.MonkeyPatch, tmp: Path) -> None:
    """Facts that may be left out, under documents of which facts are left out and nothing else is done to them."""
    rego("guard/guard.rego", "object.get(input, path, null) == null", "input.never == path")(
        patch, tmp
    )
    patch.setattr(corruption, "_FIXED", {"absent": corruption.ABSENT})
    patch.setattr(corruption, "_DERIVED", {})
    patch.setattr(corruption, "_TEXT", {})


def without_authorization(patch: pytest.MonkeyPatch, _tmp: Path) -> None:
    """An engine that asks nobody what they may do."""
    plan = planning.plan

    def open_to_all(*given: Any) -> Plan:
        drawn = plan(*given)
        kept = [argument for argument in drawn.argv if argument != "--authorization=basic"]
        return replace(drawn, argv=kept)

    patch.setattr(planning, "plan", open_to_all)


FAULTS: dict[str, tuple[Plant, str, str, dict[str, Any]]] = {
    "D1: any revision may answer": (
        python(Client, "_check", lambda *_: "1.22.3"),
        "engine/test_fail_closed.py",
        "test_engine_that_answers_badly_denies_in_time_and_on_record",
        {"fault": "another revision", "part": OTHER_REVISION, "code": "engine.revision"},
    ),
    "D2: the last answer stands in for none": (
        with_last_answer,
        FAIL_CLOSED,
        "test_killed_opa_denies_and_the_next_question_starts_another",
        {},
    ),
    "D3: a missing fact is overlooked": (
        missing_is_fine,
        "policy/test_corrupted_documents.py",
        "test_document_refused_for_one_fact_is_never_allowed",
        {},
    ),
    "D5: a built-in that fails is no answer": (
        python("tipstaff.pdp.client", "_QUERY", "?provenance=true"),
        FAILING,
        "test_rule_that_fails_or_contradicts_itself_is_a_denial_that_says_so",
        {},
    ),
    "D6: every built-in may be used": (
        with_all_builtins,
        FAILING,
        "test_built_in_that_reaches_out_is_refused_in_every_spelling",
        {},
    ),
    "D7: nobody asks who may do what": (
        without_authorization,
        SURFACE,
        "test_policy_cannot_be_written_and_answers_stay",
        {},
    ),
    "D8: any depth is read": (
        python("tipstaff.documents.strict_json", "MAX_DEPTH", 10**9),
        HOSTILE,
        ROW,
        {"row": "row 13"},
    ),
}


# A test that fails lets go of its connections without closing them.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("fault", FAULTS)
def test_planted_fault_turns_a_test_of_the_promise_red(
    project: Path,
    opa: Opa,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    request: pytest.FixtureRequest,
    fault: str,
) -> None:
    plant, path, name, values = FAULTS[fault]
    given = {"project": project, "opa": opa, "monkeypatch": monkeypatch, "tmp_path": tmp_path}
    if "workshop" in wanted(path, name):
        given["workshop"] = request.getfixturevalue("workshop")
    plant(monkeypatch, tmp_path)
    if path == SURFACE:
        policy = build_policy(opa, tmp_path / "small")
        given["running"] = sidecar.join(tmp_path / "state", opa, [policy])
    demand_red(path, name, {**given, **values})
