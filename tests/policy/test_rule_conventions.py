"""The conventions that our policy keeps: those of `tipstaff policy check`, and those that Python's registries hold."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from support.command_line import Result
from support.rego import annotations, evaluate
from tipstaff import declared
from tipstaff.documents.codes import CODES
from tipstaff.pdp.opa import Opa

POLICY = declared.folder("policy")
RULES = sorted(file for file in POLICY.rglob("*.rego") if not file.name.endswith("_test.rego"))
TESTS = sorted(POLICY.rglob("*_test.rego"))
CODE = re.compile(r"[a-z][a-z0-9_]*(\.[a-z][a-z0-9_]*)*\Z")
REASONS = {
    "rollback",
    "deny",
    "escalate",
    "require_approval",
    "grant",
    "advice",
    "findings",
    "shortfalls",
    "verdict",
}


@pytest.fixture(scope="module")
def notes(opa: Opa) -> list[dict[str, Any]]:
    """The annotations outside the tests."""
    return [
        note for note in annotations(opa) if not note["location"]["file"].endswith("_test.rego")
    ]


def where(note: dict[str, Any]) -> str:
    """File and line of what a note is about."""
    return f"{note['location']['file']}:{note['location']['row']}"


def reasons(notes: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The notes of the rules that give reasons."""
    return [note for note in notes if "code" in note["annotations"].get("custom", {})]


def test_answer_to_nothing_has_the_words_that_are_noted(
    opa: Opa, notes: list[dict[str, Any]], tmp_path: Path
) -> None:
    note = next(note for note in reasons(notes) if note["path"][3] == "verdict")
    verdict = evaluate(opa, "data.tipstaff.decision.verdict", None, tmp_path)
    said = {**verdict["reasons"][0]}
    assert said.pop("rule") == "tipstaff.decision.verdict#decision.undefined"
    assert said == note["annotations"]["custom"]


def test_engine_codes_are_pythons_alone(notes: list[dict[str, Any]]) -> None:
    reserved = ("engine.", "explanation.", "obligation.")
    assert all(code.startswith(reserved) and CODE.match(code) for code in CODES)
    assert [
        where(note)
        for note in reasons(notes)
        if note["annotations"]["custom"]["code"].startswith(reserved)
    ] == []


@pytest.mark.req("G-08")
def test_every_gate_names_the_risk_and_the_remedy(notes: list[dict[str, Any]]) -> None:
    gates = [note for note in reasons(notes) if note["path"][2] == "gates"]
    assert len(gates) == 2
    for note in gates:
        custom = note["annotations"]["custom"]
        assert "OWASP-LLM06:2025" in custom["controls"]
        assert any(control.startswith("OWASP-ASI") for control in custom["controls"])
        assert custom["solution"]


def test_rules_with_reasons_are_named_by_what_they_do(notes: list[dict[str, Any]]) -> None:
    names = {note["path"][-1] for note in reasons(notes)}
    public = {name for name in names if not name.startswith("_")}
    assert public == REASONS


def test_only_the_two_questions_are_entry_points(notes: list[dict[str, Any]]) -> None:
    entries = [note["path"] for note in notes if note["annotations"].get("entrypoint")]
    assert sorted(path[-1] for path in entries) == ["verdict", "verdicts"]
    assert {path[2] for path in entries} == {"decision"}


def test_every_package_has_its_tests_beside_it() -> None:
    tested = {file.parent for file in TESTS}
    for folder in {file.parent for file in RULES}:
        assert folder in tested
        assert (folder / f"{folder.name}.rego").is_file()
        assert (folder / f"{folder.name}_test.rego").is_file()


def test_bundle_has_one_root_and_no_tests_of_its_own() -> None:
    assert json.loads((POLICY / ".manifest").read_text()) == {"roots": ["tipstaff"]}


def test_policy_keeps_the_conventions_that_it_asks_of_others(
    run_cli: Callable[..., Result],
) -> None:
    done = run_cli("policy", "check", POLICY, "--json")
    assert (done.json["findings"], done.json["waived"], done.code) == ([], [], 0)
    assert done.json["checked"]["rules"] > 300
