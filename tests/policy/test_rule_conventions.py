"""The conventions that every rule of the policy keeps, held against OPA's own reading of it."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from support.rego import annotations, evaluate
from tipstaff import declared
from tipstaff.documents.codes import CODES
from tipstaff.pdp.opa import Opa

POLICY = declared.folder("policy")
RULES = sorted(file for file in POLICY.rglob("*.rego") if not file.name.endswith("_test.rego"))
TESTS = sorted(POLICY.rglob("*_test.rego"))
CODE = re.compile(r"[a-z][a-z0-9_]*(\.[a-z][a-z0-9_]*)*\Z")
REASONS = {"deny", "escalate", "require_approval", "grant", "advice", "shortfalls", "verdict"}
# Packages that read the input without a schema, and why.
WITHOUT_SCHEMA = {
    "decision": "it reads what every kind has, and hands the rest on",
    "guard": "it is there for documents that are not what a schema says",
    "comparison": "its input is pairs of verdicts, not a document",
    "sidecar": "its input is a request to OPA, not a document",
}


@cache
def parsed(opa: Opa, file: Path) -> dict[str, Any]:
    """A module as OPA reads it."""
    answer = opa.run(["parse", "--format", "json", str(file)])
    assert answer.returncode == 0, answer.stderr.decode()
    return dict(json.loads(answer.stdout))


def nodes(value: Any) -> Iterator[dict[str, Any]]:
    """Each object in a parsed module."""
    if isinstance(value, dict):
        yield value
    for item in value.values() if isinstance(value, dict) else value:
        if isinstance(item, dict | list):
            yield from nodes(item)


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


def test_every_note_has_a_title(notes: list[dict[str, Any]]) -> None:
    assert notes
    assert [where(note) for note in notes if not note["annotations"].get("title")] == []


def test_every_package_and_reason_has_a_description(notes: list[dict[str, Any]]) -> None:
    packages = [note for note in notes if note["annotations"]["scope"] == "package"]
    assert {note["path"][2] for note in packages} == {file.parent.name for file in RULES}
    said = [*packages, *reasons(notes)]
    assert [where(note) for note in said if not note["annotations"].get("description")] == []


@pytest.mark.parametrize("file", RULES, ids=lambda file: file.stem)
def test_every_public_rule_has_a_note(opa: Opa, notes: list[dict[str, Any]], file: Path) -> None:
    noted = {".".join(note["path"][1:]) for note in notes}
    package = ".".join(part["value"] for part in parsed(opa, file)["package"]["path"][1:])
    names = {rule["head"]["ref"][0]["value"] for rule in parsed(opa, file)["rules"]}
    assert {name for name in names if not name.startswith("_")} <= {
        path.removeprefix(f"{package}.") for path in noted
    }


def test_every_reason_has_its_words_and_a_code_of_its_own(notes: list[dict[str, Any]]) -> None:
    given = [note["annotations"]["custom"] for note in reasons(notes)]
    for custom in given:
        assert CODE.match(custom["code"]), custom
        assert custom["message"]
        assert custom["solution"]
        assert custom.keys() <= {"code", "message", "solution", "controls", "order"}
    codes = Counter([custom["code"] for custom in given] + list(CODES))
    assert [code for code, times in codes.items() if times > 1] == []


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
    public = {note["path"][3] for note in reasons(notes) if not note["path"][3].startswith("_")}
    assert public == REASONS


def test_only_the_two_questions_are_entry_points(notes: list[dict[str, Any]]) -> None:
    entries = [note["path"] for note in notes if note["annotations"].get("entrypoint")]
    assert sorted(path[-1] for path in entries) == ["verdict", "verdicts"]
    assert {path[2] for path in entries} == {"decision"}


def test_every_package_that_reads_the_input_names_its_schema(
    opa: Opa, notes: list[dict[str, Any]]
) -> None:
    readers = {
        file.parent.name
        for file in RULES
        for node in nodes(parsed(opa, file))
        if node.get("type") == "var" and node.get("value") == "input"
    }
    named = {note["path"][2] for note in notes if note["annotations"].get("schemas")}
    assert readers - named == set(WITHOUT_SCHEMA)


@pytest.mark.parametrize("file", [*RULES, *TESTS], ids=lambda file: file.stem)
def test_folder_is_the_path_of_the_package(opa: Opa, file: Path) -> None:
    package = [part["value"] for part in parsed(opa, file)["package"]["path"][1:]]
    folders = list(file.relative_to(POLICY).parent.parts)
    if file.name.endswith("_test.rego") and folders != ["tipstaff", "testing"]:
        folders[-1] += "_test"
    assert package == folders


def test_every_package_has_its_tests_beside_it() -> None:
    tested = {file.parent for file in TESTS}
    for folder in {file.parent for file in RULES}:
        assert folder in tested
        assert (folder / f"{folder.name}.rego").is_file()
        assert (folder / f"{folder.name}_test.rego").is_file()


def test_bundle_has_one_root_and_no_tests_of_its_own() -> None:
    assert json.loads((POLICY / ".manifest").read_text()) == {"roots": ["tipstaff"]}


def test_rules_and_tests_are_short() -> None:
    long = {file: len(file.read_text().splitlines()) for file in RULES}
    assert {file: lines for file, lines in long.items() if lines > 150} == {}
    long = {file: len(file.read_text().splitlines()) for file in TESTS}
    assert {file: lines for file, lines in long.items() if lines > 300} == {}


@pytest.mark.parametrize("file", TESTS, ids=lambda file: file.stem)
def test_names_of_tests_are_sentences(opa: Opa, file: Path) -> None:
    rules = {rule["head"]["ref"][0]["value"] for rule in parsed(opa, file).get("rules", [])}
    for name in rules:
        if name.startswith("test_"):
            assert name.count("_") >= 3, name


@pytest.mark.parametrize("file", RULES, ids=lambda file: file.stem)
def test_nothing_undefined_is_negated_in_a_call(opa: Opa, file: Path) -> None:
    """OPA takes the operands of a negated call out of it, so an undefined one undoes the rule instead of the call.

    ``not f(input.x)`` says nothing where ``input.x`` is absent. Equality is not a call in this sense, and
    ``object.get`` with a default is always defined.
    """
    for node in nodes(parsed(opa, file)):
        if not node.get("negated") or not isinstance(node["terms"], list):
            continue
        operator = ".".join(str(part["value"]) for part in node["terms"][0]["value"])
        if operator == "equal":
            continue
        for operand in node["terms"][1:]:
            assert _is_defined(operand), f"{file.name}: not {operator}(…)"


def _is_defined(term: dict[str, Any]) -> bool:
    if term["type"] == "ref":
        return bool(term["value"][0]["value"] == "data")
    if term["type"] == "call":
        called = ".".join(str(part["value"]) for part in term["value"][0]["value"])
        return called in {"object.get", "concat"}
    return True
