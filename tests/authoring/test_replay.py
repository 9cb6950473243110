"""Recorded decisions come out again, and the command line says what plain OPA says."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from support.cases import a_case
from support.workshop import Workshop
from tipstaff.authoring.comparison import replay
from tipstaff.authoring.corpus import Case, examples, from_trail
from tipstaff.authoring.sides import Edit, both
from tipstaff.documents.base import Json
from tipstaff.documents.input import parse_input
from tipstaff.documents.verdict import Verdict
from tipstaff.errors import ContractError
from tipstaff.evidence.repository import Repository
from tipstaff.pdp.opa import Opa


def asked(number: int) -> list[Json]:
    """Varied documents as callers write them, over and over."""
    varied = [case.document for case in examples() if _is_well_formed(case.document)]
    return [
        {key: value for key, value in varied[place % len(varied)].items() if key != "context"}
        for place in range(0, number * 7, 7)
    ]


def recorded(workshop: Workshop, number: int) -> list[Case]:
    """The cases of the trail after so many decisions."""
    with workshop.engine() as engine:
        engine.decide_many(asked(number))
        return list(from_trail(engine.trail))


def _sources(revisions: dict[str, str | None]) -> dict[str, str]:
    """Which source each bundle is of, whatever its number."""
    return {name: str(revision).rpartition(".")[2] for name, revision in revisions.items()}


def replayed(workshop: Workshop, opa: Opa, cases: Sequence[Case]) -> list[Verdict]:
    """What the working tree's policy answers to recorded decisions."""
    repository = Repository.open(workshop.root)
    head = repository.resolve("HEAD")
    edit = Edit(opa, repository, workshop.root / "policy", "org", head, "the base")
    with both(edit) as (_, side):
        recorded = cases[0].document["context"]["bundles"]
        assert _sources(side.rules.revisions) == _sources(recorded)
        return replay([(side, cases)])[0]


@pytest.mark.promise("D9")
@pytest.mark.parametrize(
    "number", [200, pytest.param(10_000, marks=[pytest.mark.nightly])], ids="{}-decisions".format
)
def test_recorded_decisions_come_out_again_on_the_same_revision(
    workshop: Workshop, opa: Opa, number: int
) -> None:
    cases = recorded(workshop, number)
    assert len(cases) == number
    assert len({case.recorded.effect for case in cases if case.recorded}) == 4
    assert replayed(workshop, opa, cases) == [case.recorded for case in cases]


@pytest.mark.req("CI-06")
def test_recorded_decisions_show_what_an_edit_would_have_done(workshop: Workshop) -> None:
    document = {key: value for key, value in a_case().items() if key != "context"}
    with workshop.engine() as engine:
        ids = [engine.decide(document).decision_id for _ in range(3)]
    workshop.configure(autonomy={"heal_additive": "off"})
    found = workshop.run("policy", "diff", "--base", "HEAD", "--from-audit", "--json")
    assert (found.code, found.json["tightened"]) == (0, 3)
    assert [flip["case"] for flip in found.json["flips"]] == ids


@pytest.mark.req("CI-03")
def test_command_line_says_what_opa_eval_says(workshop: Workshop, opa: Opa, tmp_path: Path) -> None:
    with workshop.engine() as engine:
        bundles, revisions = engine.policy.bundles(), engine.policy.revisions()
    cases = [case for case in examples() if _is_well_formed(case.document)][::4]
    documents = [expecting(revisions, case.document) for case in cases]
    assert len(documents) >= 200
    (tmp_path / "input.json").write_text(json.dumps({"documents": documents}))
    query = "[v | some d in input.documents; v := data.tipstaff.decision.verdict with input as d]"
    options = [part for bundle in bundles for part in ("--bundle", str(bundle.file))]
    answer = opa.run(
        ["eval", "--format", "raw", *options, "-i", str(tmp_path / "input.json"), query],
        timeout_s=300,
    )
    assert answer.returncode == 0, answer.stderr.decode()
    for case, document, plain in zip(cases, documents, json.loads(answer.stdout), strict=True):
        said = workshop.run(
            "decide", "-", "--replay", "--json", stdin=json.dumps(document).encode()
        )
        verdict = said.json
        assert verdict["policy"].pop("opa_version") == opa.version
        assert verdict == plain, case.name


def expecting(revisions: dict[str, str | None], document: Json) -> Json:
    """The document, expecting these revisions."""
    return {**document, "context": {**document["context"], "bundles": revisions}}


def _is_well_formed(document: Json) -> bool:
    try:
        parse_input(document)
    except ContractError:
        return False
    return True
