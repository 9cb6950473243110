"""`tipstaff policy test`: what fails, what no test reaches, and both in forms that CI reads."""

from __future__ import annotations

import shutil
from pathlib import Path

import junitparser
import pytest

from support.command_line import Result, run
from tipstaff import declared

RULES = """package org.size

deny contains "no" if input.a == 1

deny contains "nor" if {
	input.b == 1
	input.c == 1
}
"""
TESTS = """package org.size_test

import data.org.size

test_one if size.deny == {"no"} with input as {"a": 1}
"""
MORE = """
test_two if size.deny == {"nor"} with input as {"b": 1, "c": 1}
"""


def policy(folder: Path, tests: str) -> Path:
    """An overlay of one package."""
    (folder / "org/size").mkdir(parents=True)
    (folder / ".manifest").write_text('{"roots": ["org"]}')
    (folder / "org/size/size.rego").write_text(RULES)
    (folder / "org/size/size_test.rego").write_text(tests)
    return folder


def covered(folder: Path, *more: str) -> Result:
    """The command with a demand of everything."""
    return run("policy", "test", folder, "--coverage", "100", *more)


def test_overlay_that_is_covered_passes_whatever_of_tipstaffs_own_it_leaves_out(
    tmp_path: Path,
) -> None:
    result = covered(policy(tmp_path / "policy", TESTS + MORE), "--json")
    assert result.json["coverage"] == {"percent": 100, "uncovered": []}
    assert (result.json["passed"], result.json["failed"], result.code) == (2, 0, 0)


@pytest.mark.req("CI-02")
def test_lines_that_no_test_reaches_are_named(tmp_path: Path) -> None:
    folder = policy(tmp_path / "policy", TESTS)
    result = covered(folder, "--json")
    file = str(folder / "org/size/size.rego")
    assert result.json["coverage"]["uncovered"] == [{"file": file, "lines": "5-7"}]
    assert 0 < result.json["coverage"]["percent"] < 100
    assert result.code == 1
    assert f"{file}:5-7: no test reaches it" in covered(folder).stdout


def test_less_than_everything_can_be_enough(tmp_path: Path) -> None:
    folder = policy(tmp_path / "policy", TESTS)
    assert run("policy", "test", folder, "--coverage", "40").code == 0
    assert "coverage" not in run("policy", "test", folder, "--json").json


@pytest.mark.req("CI-02")
@pytest.mark.promise("D4")
def test_deleted_test_turns_the_gate_of_our_own_policy_red(tmp_path: Path) -> None:
    folder = tmp_path / "policy"
    shutil.copytree(declared.folder("policy"), folder)
    (folder / "tipstaff/shapes/shapes_test.rego").unlink()
    (folder / "tipstaff/pause/pause_test.rego").unlink()
    result = covered(folder)
    assert result.code == 1
    assert f"{folder}/tipstaff/pause/pause.rego:51: no test reaches it" in result.stdout


def test_report_has_a_case_a_test_and_says_where_one_fails(tmp_path: Path) -> None:
    folder = policy(tmp_path / "policy", TESTS + MORE.replace("nor", "neither"))
    file = tmp_path / "out" / "rego.xml"
    result = run("policy", "test", folder, "--junit", file, "--coverage", "100")
    [suite] = junitparser.JUnitXml.fromfile(str(file))
    cases = {case.name: case for case in suite}
    place = f"{folder}/org/size/size_test.rego:7"
    assert (suite.name, suite.tests, suite.failures) == ("data.org.size_test", 2, 1)
    assert cases["test_one"].is_passed
    assert cases["test_two"].result[0].message == f"{place}: the test does not hold"
    assert f"{place}: data.org.size_test.test_two failed" in result.stdout
    assert result.code == 1


def test_test_that_takes_too_long_fails_and_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tipstaff.cli.policy.tests._ONE_TEST_S", 1)
    far = "count([1 | some i in numbers.range(1, 9999); some j in numbers.range(1, 9999); i == j])"
    result = run(
        "policy", "test", policy(tmp_path / "policy", f"{TESTS}\ntest_far if {far} == 3\n")
    )
    assert result.code == 1
    file = tmp_path / "policy/org/size/size_test.rego"
    assert f"{file}:7: data.org.size_test.test_far failed: it took longer than 1 s" in result.stdout


@pytest.mark.parametrize("verb", ["test", "sign"])
def test_each_complaint_of_opa_is_on_a_line_of_its_own(project: Path, verb: str) -> None:
    for name in ("one", "two"):
        (project / f"policy/org/{name}.rego").write_text(f"package org.{name}\n\nx if y_{name}\n")
    result = run("policy", verb, cwd=project)
    assert result.code == 2
    said = result.stderr.splitlines()
    for name in ("one", "two"):
        [line] = [line for line in said if f"{name}.rego:3: rego_unsafe_var_error" in line]
        assert f"y_{name}" in line


@pytest.mark.parametrize("verb", ["test", "docs", "sign"])
def test_line_that_does_not_parse_is_shown_as_it_stands(project: Path, verb: str) -> None:
    (project / "policy/org/one.rego").write_text("package org.one\n\nx if }\n")
    result = run("policy", verb, cwd=project)
    assert result.code == 2
    first, shown, *_ = result.stderr.splitlines()
    assert "org/one.rego:3: rego_parse_error: unexpected } token" in first
    assert shown.strip() == "x if }"


def test_report_in_a_folder_that_is_a_file_is_refused(tmp_path: Path) -> None:
    folder = policy(tmp_path / "policy", TESTS)
    result = run("policy", "test", folder, "--junit", folder / ".manifest" / "x.xml", "--json")
    assert (result.code, result.json["error"]["code"]) == (2, "file.unwritable")


def test_test_that_is_yet_to_be_written_is_not_counted_as_passed(tmp_path: Path) -> None:
    folder = policy(tmp_path / "policy", f"{TESTS}\ntodo_test_two if false\n")
    result = run("policy", "test", folder, "--json")
    counted = (result.json["passed"], result.json["failed"], result.json["skipped"])
    assert (result.code, counted) == (0, (1, 0, 1))
    assert "1 passed, 0 failed, 1 skipped" in run("policy", "test", folder).stdout
