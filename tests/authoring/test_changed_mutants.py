"""`tipstaff policy mutate --changed`: only what an edit touches is changed and asked about."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from support.command_line import Result, run
from support.repositories import commit, git, make_repository

RULES = """package org.{name}

deny contains "many" if count(input.files) > 5
"""
TESTS = """package org.{name}_test

import data.org.{name}

test_six_files_are_denied if count({name}.deny) == 1 with input as {{"files": [1, 2, 3, 4, 5, 6]}}

test_five_files_are_not_denied if count({name}.deny) == 0 with input as {{"files": [1, 2, 3, 4, 5]}}
"""
UNTESTED = '\ndeny contains "frozen" if input.frozen == true\n'


@pytest.fixture
def overlay(tmp_path: Path) -> Path:
    """A committed overlay of two packages, each of which is tested."""
    root = make_repository(tmp_path / "repository")
    folder = root / "policy"
    for name in ("size", "pace"):
        (folder / "org" / name).mkdir(parents=True)
        (folder / "org" / name / f"{name}.rego").write_text(RULES.format(name=name))
        (folder / "org" / name / f"{name}_test.rego").write_text(TESTS.format(name=name))
    (folder / ".manifest").write_text('{"roots": ["org"]}')
    commit(root, "with an overlay")
    return folder


def changed(folder: Path, *more: str) -> Result:
    """The command on what differs from the last commit, with its one document."""
    return run("policy", "mutate", folder, "--changed", "HEAD", "--json", *more)


def whole(folder: Path, package: str) -> int:
    """How many mutants a package has."""
    return int(run("policy", "mutate", folder, "--only", package, "--json").json["mutants"])


def test_folder_that_nobody_touched_has_nothing_to_try(overlay: Path) -> None:
    result = changed(overlay, "--strict")
    assert (result.code, result.json["mutants"], result.json["score"]) == (0, 0, None)
    told = run("policy", "mutate", overlay, "--changed", "HEAD")
    assert told.stdout == "nothing was changed that the rules rest on\n"


def test_rule_that_an_edit_adds_without_a_test_survives_alone(overlay: Path) -> None:
    rules = overlay / "org/size/size.rego"
    rules.write_text(rules.read_text() + UNTESTED)
    result = changed(overlay, "--strict")
    assert result.code == 1
    assert result.json["mutants"] == whole(overlay, "org.size")
    assert {one["where"] for one in result.json["survivors"]} == {"org.size.deny"}
    git(overlay.parent, "add", "-A")
    assert changed(overlay).json == changed(overlay, "--minimum", "95").json


def softened(folder: Path) -> None:
    """A test that is still there and asks for nothing."""
    tests = folder / "org/pace/pace_test.rego"
    tests.write_text(tests.read_text().replace("== 1 with", ">= 0 with"))


def gone(folder: Path) -> None:
    """One of two files of tests, taken away."""
    (folder / "org/pace/more_test.rego").unlink()


@pytest.mark.parametrize("edit", [softened, gone])
def test_edit_of_a_test_asks_about_the_rules_beside_it(
    overlay: Path, edit: Callable[[Path], None]
) -> None:
    (overlay / "org/pace/more_test.rego").write_text(
        "package org.pace_test\n\ntest_a_b_c := true\n"
    )
    commit(overlay.parent, "with more tests")
    edit(overlay)
    assert changed(overlay).json["mutants"] == whole(overlay, "org.pace")


def test_data_that_an_edit_changes_is_asked_about_alone(overlay: Path) -> None:
    data = overlay / "org/size/data.json"
    data.write_text('{"limit": 5}')
    result = changed(overlay)
    assert [one["file"] for one in result.json["survivors"]] == [str(data)] * 3
    assert result.json["mutants"] == 3


def test_folder_that_the_commit_lacks_is_new_as_a_whole(overlay: Path) -> None:
    result = run("policy", "mutate", overlay, "--changed", "HEAD~1", "--json")
    assert result.json["mutants"] == whole(overlay, "org")


def test_commit_that_is_not_there_is_refused(overlay: Path) -> None:
    result = run("policy", "mutate", overlay, "--changed", "no-such-commit", "--json")
    assert (result.code, result.json["error"]["code"]) == (2, "repository.unknown_revision")
