"""`tipstaff policy mutate`: what the tests of a policy do not notice is named."""

from __future__ import annotations

import random
import subprocess
import tempfile
from pathlib import Path

import pytest

from support.command_line import Result, run
from tipstaff import declared
from tipstaff.authoring import mutation, policy_tree
from tipstaff.authoring.mutants import Mutant
from tipstaff.authoring.mutation import Outcome
from tipstaff.pdp.opa import Opa

RULES = """package org.size

limit := 5

require_approval contains "many files" if {
	input.kind == "change"
	count(input.resource.files) > limit
}
"""
TESTS = """package org.size_test

import data.org.size

_change(kind, files) := {"kind": kind, "resource": {"files": files}}

test_six_files_are_looked_at if {
	size.require_approval == {"many files"} with input as _change("change", numbers.range(1, 6))
}

test_five_files_are_not if {
	size.require_approval == set() with input as _change("change", numbers.range(1, 5))
}

test_other_kinds_are_not if {
	size.require_approval == set() with input as _change("control", numbers.range(1, 6))
}
"""
UNTESTED = """
deny contains "frozen" if input.context.frozen == true
"""


@pytest.fixture
def overlay(tmp_path: Path) -> Path:
    """An overlay with one rule, of which every part is tested."""
    folder = tmp_path / "policy"
    write(folder, "size.rego", RULES)
    write(folder, "size_test.rego", TESTS)
    (folder / ".manifest").write_text('{"roots": ["org"]}')
    return folder


def write(folder: Path, name: str, text: str) -> Path:
    """Put a file into the package."""
    file = folder / "org" / "size" / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    return file


def mutate(folder: Path, *more: str) -> Result:
    """The command, with its one document."""
    return run("policy", "mutate", folder, "--json", *more)


@pytest.mark.promise("D4")
def test_policy_of_which_every_part_is_tested_has_no_survivor(overlay: Path) -> None:
    result = mutate(overlay)
    assert result.json["survivors"] == []
    assert result.json["killed"] == result.json["mutants"] > 10
    assert result.json["score"] == 100
    assert result.code == 0


@pytest.mark.promise("D4", "ahead 10")
def test_rule_without_a_test_survives_by_file_and_line(overlay: Path) -> None:
    untested_rule_survives(overlay)


def untested_rule_survives(overlay: Path) -> None:
    """A rule without a test is named with where it stands and what was done to it."""
    file = write(overlay, "size.rego", RULES + UNTESTED)
    result = mutate(overlay)
    gone = [one for one in result.json["survivors"] if one["operator"] == "rule deleted"]
    assert [(one["file"], one["line"], one["before"]) for one in gone] == [
        (str(file), 10, 'deny contains "frozen"')
    ]
    assert result.json["survived"] == result.json["mutants"] - result.json["killed"] > 1
    assert result.json["score"] < 95
    assert result.code == 1


@pytest.mark.promise("D4")
def test_planted_check_that_says_killed_to_everything_is_noticed(
    overlay: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mutation._Trial, "_noticed", lambda *_: "killed")
    with pytest.raises(AssertionError):
        untested_rule_survives(overlay)


def test_survivors_are_shown_with_what_was_changed(overlay: Path) -> None:
    file = write(overlay, "size.rego", RULES + UNTESTED)
    result = run("policy", "mutate", overlay)
    assert f"{file}:10:1: rule deleted in org.size.deny [" in result.stdout
    assert "    became: not input.context.frozen == true" in result.stdout
    assert "mutants killed" in result.stdout.splitlines()[-1]
    assert "mutants tried" in result.stderr


@pytest.mark.promise("D4")
def test_every_fate_is_what_opa_test_says(opa: Opa, overlay: Path, tmp_path: Path) -> None:
    bound = 'obligations contains {"id": word} if { some word in input.words; word != "" }\n'
    write(overlay, "size.rego", RULES + UNTESTED + bound)
    write(overlay, "data.json", '{"limits": [1, 2], "on": true}')
    tree = policy_tree.load(opa, overlay)
    given = mutation.all_mutants(opa, tree)
    outcomes = mutation.run(opa, tree, given, jobs=2, tell=lambda *_: None)
    for outcome in outcomes:
        assert outcome.fate == fate(opa, overlay, outcome.mutant), outcome.mutant
    assert {outcome.fate for outcome in outcomes} == {"killed", "survived", "uncompiled"}


def fate(opa: Opa, folder: Path, mutant: Mutant) -> str:
    """What `opa test` says of a mutant."""
    file = folder / mutant.file
    before = file.read_text()
    file.write_text(mutant.text)
    try:
        answer = opa.run(["test", ".", "--format=json"], cwd=folder)
    finally:
        file.write_text(before)
    if answer.returncode == 0:
        return "survived"
    return "killed" if answer.stdout.lstrip().startswith(b"[") else "uncompiled"


def test_explained_survivor_is_shown_with_its_reason_wherever_its_line_moves(overlay: Path) -> None:
    file = write(overlay, "size.rego", RULES + UNTESTED)
    explain(overlay, [one["id"] for one in mutate(overlay).json["survivors"]])
    file.write_text(file.read_text().replace("\n\n", "\n\n# moved\n\n\n"))
    result = mutate(overlay, "--minimum", "50", "--strict")
    assert {one["explained"] for one in result.json["survivors"]} == {"it is a trial"}
    assert result.code == 0


def test_explanation_of_another_rule_text_is_a_finding(overlay: Path) -> None:
    file = write(overlay, "size.rego", RULES + UNTESTED)
    known = [one["id"] for one in mutate(overlay).json["survivors"]]
    explain(overlay, known)
    file.write_text(file.read_text().replace("context.frozen", "context.locked"))
    result = mutate(overlay, "--minimum", "50")
    assert result.json["unused"] == sorted(known)
    assert {one["explained"] for one in result.json["survivors"]} == {None}
    assert result.code == 1


def test_survivor_that_nobody_explains_is_a_finding_if_so_wanted(overlay: Path) -> None:
    write(overlay, "size.rego", RULES + UNTESTED)
    assert mutate(overlay, "--minimum", "50").code == 0
    strict = mutate(overlay, "--strict")
    assert (strict.code, strict.json["minimum"]) == (1, None)
    explain(overlay, [one["id"] for one in strict.json["survivors"]])
    assert (mutate(overlay, "--strict").code, mutate(overlay).code) == (0, 1)


def explain(folder: Path, identities: list[str]) -> None:
    """Write an explanation for each."""
    entry = '[[explained]]\nid = "{}"\nwhat = "a change"\nwhy = "it is a trial"\n'
    (folder / "mutation.toml").write_text("".join(map(entry.format, identities)))


@pytest.mark.parametrize(
    "text",
    [
        "minimum = ",
        "minimum = 101",
        "minimum = 'high'",
        "least = 95",
        '[[explained]]\nid = "x"\nwhat = "y"\nwhy = "z"',
        '[[explained]]\nid = "0123456789ab"\nwhat = "y"',
        '[[explained]]\nid = "0123456789ab"\nwhat = "y"\nwhy = "z"\n' * 2,
    ],
)
def test_explanations_that_cannot_be_read_are_refused(overlay: Path, text: str) -> None:
    (overlay / "mutation.toml").write_text(text)
    result = mutate(overlay)
    assert result.code == 2
    assert result.json["error"]["code"] in ("document.invalid", "policy.explanation")
    assert result.json["error"]["file"] == str(overlay / "mutation.toml")


def test_minimum_of_the_folder_counts_where_no_other_is_named(overlay: Path) -> None:
    write(overlay, "size.rego", RULES + UNTESTED)
    (overlay / "mutation.toml").write_text("minimum = 10\n")
    assert (mutate(overlay).json["minimum"], mutate(overlay).code) == (10, 0)
    assert mutate(overlay, "--minimum", "99").code == 1


def test_one_package_is_mutated_alone(overlay: Path) -> None:
    assert mutate(overlay, "--only", "org.size").json["mutants"] == mutate(overlay).json["mutants"]
    result = mutate(overlay, "--only", "org.other")
    assert (result.code, result.json["error"]["field"]) == (2, "org.other")


def test_policy_whose_tests_fail_is_not_mutated(overlay: Path) -> None:
    write(overlay, "size.rego", RULES.replace("> limit", "< limit"))
    result = mutate(overlay)
    assert (result.code, result.json["error"]["code"]) == (2, "policy.tests_fail")


def test_policy_without_a_test_is_not_mutated(overlay: Path) -> None:
    (overlay / "org/size/size_test.rego").unlink()
    result = mutate(overlay)
    assert (result.code, result.json["error"]["code"]) == (2, "policy.invalid")


def test_policy_that_does_not_parse_names_the_line(overlay: Path) -> None:
    write(overlay, "size.rego", RULES + "deny contains\n")
    result = mutate(overlay)
    assert (result.code, result.json["error"]["code"]) == (2, "policy.invalid")
    assert result.json["error"]["file"].endswith("size.rego:10")


def test_overlay_whose_tests_ask_the_verdict_is_judged_with_tipstaffs_rules(
    overlay: Path, opa: Opa
) -> None:
    write(
        overlay,
        "size_test.rego",
        TESTS
        + """
test_it_reaches_the_verdict if {
	reasons := data.tipstaff.overlay.require_approval with input as _change("change", [1, 2, 3, 4, 5, 6])
	some reason in reasons
	reason.message == "many files"
}
""",
    )
    result = mutate(overlay)
    assert result.json["survivors"] == []
    assert {Path(module.path).parts[0] for module in policy_tree.load(opa, overlay).own} == {"org"}


def test_interrupted_run_leaves_no_process(
    overlay: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))

    def stop(*_: int) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("tipstaff.cli.policy.mutate._tell", stop)
    assert mutate(overlay).code == 130
    listed = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True)
    assert f"{folder}/tipstaff-bench-" not in listed.stdout


@pytest.mark.nightly
@pytest.mark.promise("D4")
def test_sample_of_our_own_mutants_comes_to_what_opa_test_says(opa: Opa, tmp_path: Path) -> None:
    seed = 20260101
    print("seed", seed)
    tree = policy_tree.load(opa, declared.folder("policy"))
    given = random.Random(seed).sample(mutation.all_mutants(opa, tree), 60)
    for path, text in tree.files.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    outcomes: list[Outcome] = mutation.run(opa, tree, given, jobs=2, tell=lambda *_: None)
    for outcome in outcomes:
        assert outcome.fate == fate(opa, tmp_path, outcome.mutant), outcome.mutant
