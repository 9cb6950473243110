"""Waivers: each with owner, reason and expiry; what they set aside stays visible, and they end on their day."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from support.command_line import Result

Cli = Callable[..., Result]
FREEZE = "policy/org/freeze/freeze.rego"
DURING, AFTER = "2027-01-31T23:59:59Z", "2027-02-01T00:00:00Z"
WAIVER = """  - code: convention.format
    path: policy/org/**
    owner: alice
    reason: moves with the next release
    expires: 2027-01-31
"""


def waive(root: Path, text: str = WAIVER) -> None:
    """Write the waivers of a project."""
    (root / "waivers.yaml").write_text(f"schema_version: 1\nwaivers:\n{text}")


@pytest.fixture
def loose(project: Path) -> Path:
    """A project with one finding: a file that is not formatted."""
    loosen(project)
    return project


def loosen(project: Path) -> None:
    """Indent a line with spaces."""
    file = project / FREEZE
    file.write_text(file.read_text().replace("\tinput.kind", "    input.kind"))


def check(run_cli: Cli, root: Path, now: str = DURING, *verb: str) -> tuple[int, Any]:
    """Exit code, and the codes of what counts and of what is waived."""
    done = run_cli(*(verb or ("policy", "check")), "--json", "--now", now, cwd=root)
    found, waived = done.json["findings"], done.json["waived"]
    return done.code, ([one["code"] for one in found], [one["code"] for one in waived])


@pytest.mark.promise("ahead 19")
def test_waiver_past_its_day_turns_the_check_red(run_cli: Cli, project: Path) -> None:
    loosen(project)
    waive(project)
    assert check(run_cli, project) == (0, ([], ["convention.format"]))
    assert check(run_cli, project, AFTER) == (1, (["convention.format", "waiver.expired"], []))


@pytest.mark.promise("BR-32")
def test_two_waivers_of_one_finding_are_fine_and_one_that_is_over_is_named(
    run_cli: Cli, loose: Path
) -> None:
    waive(loose, WAIVER + WAIVER.replace("alice", "bob").replace("2027-01-31", "2027-06-30"))
    assert check(run_cli, loose) == (0, ([], ["convention.format"]))
    assert check(run_cli, loose, AFTER) == (1, (["waiver.expired"], ["convention.format"]))


def test_waived_finding_is_shown_with_owner_reason_and_expiry(run_cli: Cli, loose: Path) -> None:
    waive(loose)
    printed = run_cli("policy", "check", "--now", DURING, cwd=loose)
    assert printed.code == 0
    assert f"waived: {FREEZE}:" in printed.stdout
    assert "by alice until 2027-01-31: moves with the next release" in printed.stdout
    assert "0 findings, 1 waived" in printed.stdout


def test_sarif_log_has_waived_findings_as_suppressions(run_cli: Cli, loose: Path) -> None:
    waive(loose)
    test = loose / "policy/org/freeze/freeze_test.rego"
    test.write_text(test.read_text().replace("package org.freeze_test", "package org.other_test"))
    done = run_cli("policy", "check", "--sarif", "--now", DURING, cwd=loose)
    assert done.code == 1
    log = done.json
    assert log["version"] == "2.1.0"
    assert log["$schema"].endswith("sarif-2.1.0.json")
    [ran] = log["runs"]
    driver = ran["tool"]["driver"]
    assert driver["name"] == "tipstaff"
    rules = [rule["id"] for rule in driver["rules"]]
    assert len(set(rules)) == len(rules)
    for result in ran["results"]:
        assert rules[result["ruleIndex"]] == result["ruleId"]
        assert result["level"] in {"error", "warning", "note", "none"}
        assert result["message"]["text"]
        place = result["locations"][0]["physicalLocation"]
        assert place["artifactLocation"]["uri"].startswith("policy/org/freeze/")
        assert place["artifactLocation"]["uriBaseId"] in ran["originalUriBaseIds"]
        assert place["region"]["startLine"] >= 1
    suppressed = {one["ruleId"]: one["suppressions"] for one in ran["results"]}
    assert suppressed.pop("convention.format") == [
        {
            "kind": "external",
            "status": "accepted",
            "justification": "moves with the next release",
            "properties": {"owner": "alice", "expires": "2027-01-31"},
        }
    ]
    assert suppressed
    assert not any(suppressed.values())


def test_waiver_that_sets_nothing_aside_is_a_finding_of_low_severity(
    run_cli: Cli, project: Path
) -> None:
    waive(project)
    done = run_cli("policy", "check", "--json", "--now", DURING, cwd=project)
    assert done.code == 1
    [found] = done.json["findings"]
    assert (found["code"], found["severity"]) == ("waiver.unused", "note")
    assert found["file"] == "waivers.yaml"


def test_findings_about_the_configuration_are_waived_in_the_same_way(
    run_cli: Cli, project: Path
) -> None:
    file = project / FREEZE
    file.write_text(file.read_text() + "\n# more\n")
    waive(
        project,
        WAIVER.replace("convention.format", "overlay.not_signed").replace(
            "    path: policy/org/**\n", ""
        ),
    )
    assert check(run_cli, project, DURING, "check") == (0, ([], ["overlay.not_signed"]))
    assert check(run_cli, project, AFTER, "check") == (
        1,
        (["overlay.not_signed", "waiver.expired"], []),
    )
    assert check(run_cli, project, AFTER) == (0, ([], []))


# What stands in the file, and the field that the error names.
WRONG: dict[str, tuple[str, str]] = {
    "everything": (WAIVER.replace("convention.format", '"*"'), "waivers.0.code"),
    "every code of a family": (
        WAIVER.replace("convention.format", "convention.*"),
        "waivers.0.code",
    ),
    "no owner": (WAIVER.replace("    owner: alice\n", ""), "waivers.0.owner"),
    "no reason": (
        WAIVER.replace("    reason: moves with the next release\n", ""),
        "waivers.0.reason",
    ),
    "an empty reason": (WAIVER.replace("moves with the next release", '" "'), "waivers.0.reason"),
    "no expiry": (WAIVER.replace("    expires: 2027-01-31\n", ""), "waivers.0.expires"),
    "an expiry that never comes": (WAIVER.replace("2027-01-31", "never"), "waivers.0.expires"),
    "a misspelt key": (WAIVER.replace("expires", "expire"), "waivers.0.expires"),
    "a path that is no glob": (WAIVER.replace("policy/org/**", '"[z-a]"'), "waivers.0.path"),
    "a key too many": (WAIVER + "    until: 2027-01-31\n", "waivers.0.until"),
}


@pytest.mark.promise("BR-32")
@pytest.mark.parametrize("wrong", WRONG)
def test_waiver_that_is_not_whole_is_refused_by_its_field(
    wrong: str, run_cli: Cli, project: Path
) -> None:
    text, field = WRONG[wrong]
    waive(project, text)
    done = run_cli("policy", "check", "--json", cwd=project)
    assert done.code == 2
    error = done.json["error"]
    assert error["code"] == "document.invalid"
    assert field in f"{error['field']} {error['message']}"
    assert error["file"].endswith("waivers.yaml")
