"""Cases of governed modifications, answered alike by every way of asking, and by a table that shares no rule."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from conformance import oracle
from support.conformance import BASE, Case, cases, with_facts
from support.rego import evaluate
from support.workshop import Workshop
from tipstaff.pdp.opa import Opa

ALL = cases()
_EFFECTS = {
    "promote": "allow",
    "defer": "require_approval",
    "reject": "deny",
    "rollback": "deny",
}
_SAMPLE = 400
_BATCH = 20
_SEED = 20260701


def demand(case: Case, verdict: dict[str, Any]) -> None:
    """Fail unless the verdict is the case's."""
    found = (verdict["facts"]["outcome"], verdict["effect"], verdict["codes"])
    assert found == (case.outcome, _EFFECTS[case.outcome], list(case.codes)), case.name


def verdicts(opa: Opa, documents: Sequence[Any], folder: Path) -> list[dict[str, Any]]:
    """The answers to many documents in one evaluation."""
    answers: list[dict[str, Any]] = evaluate(
        opa,
        "data.tipstaff.decision.verdicts",
        {"documents": list(documents)},
        folder,
        strict=True,
    )
    assert len(answers) == len(documents)
    return answers


def test_there_are_enough_cases_and_each_names_its_row() -> None:
    assert len(ALL) >= 120
    assert all(case.row.partition("-")[0] in {"HP", "HS", "HR", "AP"} for case in ALL.values())


@pytest.mark.req("HP-03", "HP-08", "HP-09", "HP-10", "HP-11", "HP-12", "HS-14", "HS-15", "HS-18")
def test_every_case_is_answered_as_it_says_by_the_rules(opa: Opa, tmp_path: Path) -> None:
    documents = [case.document() for case in ALL.values()]
    for case, verdict in zip(ALL.values(), verdicts(opa, documents, tmp_path), strict=True):
        demand(case, verdict)


@pytest.mark.req("HP-16")
def test_every_case_is_answered_alike_by_the_sidecar_that_serves_the_signed_bundle(
    workshop: Workshop,
) -> None:
    with workshop.engine() as engine:
        bundles = engine.policy.revisions()
        documents = [case.document(bundles) for case in ALL.values()]
        answers = [
            verdict
            for start in range(0, len(documents), _BATCH)
            for verdict in engine.evaluate(documents[start : start + _BATCH], replay=True)
        ]
    for case, verdict in zip(ALL.values(), answers, strict=True):
        demand(case, verdict.model_dump(by_alias=True))


def judged_by_the_table(opa: Opa, chosen: Sequence[tuple[str, ...]], folder: Path) -> None:
    """Hold combinations of stages against the table."""
    documents = [with_facts(BASE, oracle.facts(words)) for words in chosen]
    for words, verdict in zip(chosen, verdicts(opa, documents, folder), strict=True):
        statuses = [stage["status"] for stage in verdict["facts"]["stages"]]
        outcome = verdict["facts"]["outcome"]
        assert (outcome, statuses) == oracle.expected(words), words
        assert verdict["effect"] == _EFFECTS[outcome], words


@pytest.mark.req("HP-01", "HP-05", "HP-06", "HP-07")
def test_stages_in_every_state_come_to_what_the_table_says(opa: Opa, tmp_path: Path) -> None:
    every = list(oracle.combinations())
    print(f"seed {_SEED}: {_SAMPLE} of {len(every)} combinations")
    judged_by_the_table(opa, random.Random(_SEED).sample(every, _SAMPLE), tmp_path)


@pytest.mark.nightly
@pytest.mark.req("HP-01", "HP-05", "HP-06", "HP-07")
def test_stages_in_all_combinations_come_to_what_the_table_says(opa: Opa, tmp_path: Path) -> None:
    every = list(oracle.combinations())
    for start in range(0, len(every), 1000):
        judged_by_the_table(opa, every[start : start + 1000], tmp_path)
