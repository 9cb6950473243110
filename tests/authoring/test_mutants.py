"""Which small changes are made of a rule and of data, and where they are said to stand."""

from __future__ import annotations

from pathlib import Path

import pytest

from tipstaff.authoring import rego_source
from tipstaff.authoring.data_mutants import changes, of_data
from tipstaff.authoring.mutants import Mutant, of_module
from tipstaff.pdp.opa import Opa


def mutants(opa: Opa, folder: Path, rules: str) -> list[Mutant]:
    """All mutants of some rules."""
    (folder / "a.rego").write_text(f"package a\n\n{rules}\n")
    return of_module(rego_source.read(opa, folder, "a.rego"))


def told(found: list[Mutant], operator: str) -> set[tuple[str, str]]:
    """What one operator makes of what."""
    return {(one.before, one.after) for one in found if one.operator == operator}


@pytest.mark.promise("D4")
@pytest.mark.parametrize(
    ("rule", "operator", "expected"),
    [
        ("p if input.a < 3", "operator", {("<", "<="), ("<", ">=")}),
        ("p if input.a == input.b", "operator", {("==", "!=")}),
        ("p := input.a | {1}", "operator", {("|", "&")}),
        ("p if input.a < 3", "number", {("3", "4"), ("3", "2")}),
        ('p if input.a == "x"', "string", {('"x"', '"x~"')}),
        ("p if regex.match(`^x$`, input.a)", "string", {("`^x$`", "`^x$~`")}),
        ("default p := false", "boolean", {("false", "true")}),
        ("default p := false", "default removed", {("default p := false", "")}),
        ("p if not input.a", "negation removed", {("not input.a", "input.a")}),
        ("p if input.a", "negation added", {("input.a", "not input.a")}),
        ("p if input.a in {1, 2}", "member dropped", {("1", ""), ("2", "")}),
        ("p if input.a in {1}", "member dropped", {("{1}", "set()")}),
        ('p := {"a": 1}', "member dropped", {('{"a": 1}', "{}")}),
        (
            "p if {\n\tinput.a\n\tinput.b\n}",
            "expression deleted",
            {("input.a", ""), ("input.b", "")},
        ),
        ("p if input.a", "expression deleted", {("input.a", "true")}),
        ("p := 1 if input.a else := 2", "rule deleted", {("p := 1", ""), ("else := 2", "")}),
        (
            "p if {\n\tsome x in input.a\n\tx > 1\n}",
            "some to every",
            {("some x in input.a x > 1", "every x in input.a { x > 1 }")},
        ),
        (
            "p if every x in input.a { x > 1 }",
            "every to some",
            {("every x in input.a { x > 1 }", "{ some x in input.a x > 1 }")},
        ),
        ("test_p if input.a", "expression deleted", set()),
    ],
)
def test_operator_makes_what_its_name_says(
    opa: Opa, tmp_path: Path, rule: str, operator: str, expected: set[tuple[str, str]]
) -> None:
    assert told(mutants(opa, tmp_path, rule), operator) == expected


def test_place_is_that_of_what_is_changed_also_after_letters_of_several_bytes(
    opa: Opa, tmp_path: Path
) -> None:
    rules = '# ﬀ ß\np if {\n\tinput["ß"] == "ﬀ"; input.b > 7\n}'
    [one, _] = [each for each in mutants(opa, tmp_path, rules) if each.operator == "number"]
    line = rules.splitlines()[2]
    assert (one.line, one.column, one.before) == (5, line.index("7") + 1, "7")
    assert 'input["ß"] == "ﬀ"; input.b > 8' in one.text


def test_equal_changes_of_two_equal_rules_have_two_names(opa: Opa, tmp_path: Path) -> None:
    found = mutants(opa, tmp_path, "p if input.a == 1\n\np if input.a == 1")
    assert len({one.id for one in found}) == len(found)


@pytest.mark.promise("D4")
def test_data_is_changed_member_by_member(opa: Opa) -> None:
    text = '{\n  "on": true,\n  "most": 5,\n  "words": ["a", "b"]\n}\n'
    found = of_data(opa, "org/size/data.json", text)
    assert [(one.where, one.line, one.column) for one in found if one.before == "5"] == [
        ("org.size.most", 3, 11)
    ] * 2
    made = [changes(text, one) for one in found]
    assert ({"on": False}, []) in made
    assert ({"most": 6}, []) in made
    assert ({"words": ["b"]}, []) in made
    assert ({}, ["words"]) in made
