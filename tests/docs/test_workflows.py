"""Workflow files and the gate: pinned, unprivileged, and nothing from outside in a script."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from support.installation import tracked
from support.readme import ROOT

WORKFLOWS = sorted(name for name in tracked() if re.search(r"\bworkflows/[^/]+\.ya?ml$", name))
_PINNED = re.compile(r"[\w.-]+/[\w./-]+@[0-9a-f]{40} # v\d+(\.\d+)*$")
_USES = re.compile(r"^[\s-]*uses:\s*(.*)$", re.MULTILINE)

# What a job may do that pushes a branch and opens a pull request; nothing merges.
PROPOSING = {"contents": "write", "pull-requests": "write"}
every_workflow = pytest.mark.parametrize("name", WORKFLOWS)


def faults(text: str) -> list[str]:
    """What a workflow must not have, as it was found."""
    workflow = yaml.safe_load(text)
    jobs = workflow["jobs"].values()
    steps = [step for job in jobs for step in job.get("steps", [])]
    found = [f"not pinned: {used}" for used in _USES.findall(text) if not _PINNED.fullmatch(used)]
    found += [f"in a script: {step['run']}" for step in steps if "${{" in step.get("run", "")]
    if workflow.get("permissions") != {"contents": "read"}:
        found.append(f"permissions: {workflow.get('permissions')}")
    for name, job in workflow["jobs"].items():
        if job.get("permissions", PROPOSING) != PROPOSING or (
            "permissions" in job and name != "propose"
        ):
            found.append(f"permissions: {job['permissions']}")
    for step in steps:
        if str(step.get("uses", "")).startswith("actions/checkout@"):
            kept = step.get("with", {}).get("persist-credentials", True)
            found += ["the checkout keeps its token"] if kept is not False else []
    found += [
        word for word in ("continue-on-error", "|| true", "pull_request_target") if word in text
    ]
    found += ["a secret is read"] if re.search(r"\bsecrets\b", text) else []
    return found


def test_workflows_of_the_repository_for_its_users_and_of_the_starter_are_all_read() -> None:
    assert {".github/workflows/ci.yml", ".github/workflows/govern.yml"} <= set(WORKFLOWS)
    assert "cmd/tipstaff/starter/workflows/tipstaff.yml" in WORKFLOWS


@pytest.mark.req("CI-04")
@every_workflow
def test_no_workflow_has_a_fault(name: str) -> None:
    assert faults((ROOT / name).read_text(encoding="utf-8")) == []


@pytest.mark.req("CI-04")
@pytest.mark.parametrize(
    ("sound", "faulty"),
    [
        ('-- "$PACKAGE"', "-- ${{ inputs.package }}"),
        ("tipstaff check", 'echo "${{ github.head_ref }}"'),
        ("  contents: read", "  contents: write"),
        ("  contents: read", "  contents: read\n  id-token: write"),
        ("permissions:\n  contents: read\n", ""),
        ("    timeout-minutes: 20", "    permissions: write-all"),
        ("@11bd71901bbe5b1630ceea73d27597364c9af683 # v4.2.2", "@v4"),
        ("@11bd71901bbe5b1630ceea73d27597364c9af683 # v4.2.2", "@11bd719 # v4.2.2"),
        ("persist-credentials: false", "persist-credentials: true"),
        ("- run: tipstaff doctor", "- run: tipstaff doctor || true"),
        ("workflow_call:", "pull_request_target:"),
        ("${{ inputs.package }}", "${{ secrets.PACKAGE }}"),
    ],
)
def test_planted_fault_is_found(sound: str, faulty: str) -> None:
    text = (ROOT / ".github/workflows/govern.yml").read_text(encoding="utf-8")
    assert sound in text
    assert faults(text.replace(sound, faulty, 1)) != []


@pytest.mark.req("CI-04")
@pytest.mark.parametrize(
    ("sound", "faulty"),
    [
        ("      pull-requests: write", "      pull-requests: write\n      actions: write"),
        ("  propose:", "  publish:"),
        ("github.token", "secrets.TOKEN"),
        (
            "SERVERS: ${{ inputs.servers }}\n        run: |",
            "A: 1\n        run: |\n          echo ${{ inputs.servers }}",
        ),
        ("@b4b15b8c7c6ac21ea08fcf65892d2ee8f75cf882 # v4.4.3", "@v4"),
        ("|| code=$?", "|| true"),
    ],
)
def test_planted_fault_of_the_drift_check_is_found(sound: str, faulty: str) -> None:
    text = (ROOT / "cmd/tipstaff/starter/workflows/drift-check.yml").read_text(encoding="utf-8")
    assert sound in text
    assert faults(text) == []
    assert faults(text.replace(sound, faulty, 1)) != []


@pytest.mark.req("CI-01")
def test_drift_check_runs_daily_on_demand_and_on_pull_requests_and_never_merges() -> None:
    text = (ROOT / "cmd/tipstaff/starter/workflows/drift-check.yml").read_text(encoding="utf-8")
    workflow: Any = yaml.safe_load(text)
    events = workflow[True]  # YAML reads "on" as a boolean
    assert set(events) == {"schedule", "workflow_dispatch", "pull_request"}
    [daily] = events["schedule"]
    assert re.fullmatch(r"\d+ \d+ \* \* \*", daily["cron"])
    assert "github.event_name != 'pull_request'" in workflow["jobs"]["propose"]["if"]
    assert not re.search(r"\bmerge\b|auto-merge|push --|git push", text)


def test_workflow_and_gate_call_the_same_target() -> None:
    gate = ROOT / ".ci" / "run"
    assert os.access(gate, os.X_OK)
    assert re.search(r"^make .*\bci\b", gate.read_text(encoding="utf-8"), re.MULTILINE)
    workflow: Any = yaml.safe_load((ROOT / ".github/workflows/ci.yml").read_text(encoding="utf-8"))
    assert "make ci" in [step.get("run") for step in workflow["jobs"]["gate"]["steps"]]


def test_starter_and_reusable_workflow_run_the_same_checks() -> None:
    names = (".github/workflows/govern.yml", "cmd/tipstaff/starter/workflows/tipstaff.yml")
    ours, starter = (_commands(ROOT / name) for name in names)
    assert set(starter) <= set(ours)


def _commands(file: Path) -> list[str]:
    workflow = yaml.safe_load(file.read_text(encoding="utf-8"))
    steps = [step for job in workflow["jobs"].values() for step in job["steps"]]
    return [step["run"] for step in steps if step.get("run", "").startswith("tipstaff ")]


@pytest.mark.req("CI-06")
@pytest.mark.parametrize(
    ("code", "approved", "ended"),
    [(0, "false", 0), (1, "false", 1), (1, "true", 0), (2, "true", 2), (3, "true", 3)],
)
def test_loosening_is_red_unless_a_person_set_the_label_and_an_error_is_always_red(
    tmp_path: Path, code: int, approved: str, ended: int
) -> None:
    file = ROOT / "cmd/tipstaff/starter/workflows/tipstaff-policy.yml"
    job: Any = yaml.safe_load(file.read_text(encoding="utf-8"))["jobs"]["diff"]
    [script] = [step["run"] for step in job["steps"] if "policy diff" in step.get("run", "")]
    report = '{"loosened": 1, "tightened": 0, "changed": 0, "unchanged": 4, "flips": []}'
    (tmp_path / "tipstaff").write_text(f"#!/bin/sh\necho '{report}'\nexit {code}\n")
    (tmp_path / "tipstaff").chmod(0o755)
    run = subprocess.run(
        ["bash", "-e", "-o", "pipefail", "-c", script],
        env={
            "PATH": f"{tmp_path}:{os.environ['PATH']}",
            "BASE": "origin/main",
            "APPROVED": approved,
            "RUNNER_TEMP": str(tmp_path),
            "GITHUB_STEP_SUMMARY": str(tmp_path / "summary.md"),
        },
        capture_output=True,
        check=False,
    )
    assert run.returncode == ended, run.stderr
    summary = (tmp_path / "summary.md").read_text()
    assert "Verdicts: 1 loosened, 0 tightened, 0 otherwise changed, 4 unchanged" in summary
