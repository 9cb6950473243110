"""Workflow files and the gate: pinned, unprivileged, and nothing from outside in a script."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from support.readme import ROOT

WORKFLOWS = [
    *sorted((ROOT / ".github" / "workflows").glob("*.yml")),
    *sorted((ROOT / "cmd" / "tipstaff" / "starter" / "workflows").glob("*.yml")),
]
_PINNED = re.compile(r"uses: [\w.-]+/[\w./-]+@[0-9a-f]{40} # v\d+(\.\d+)*$")
_UNTRUSTED = re.compile(r"\$\{\{\s*(inputs|github\.event|github\.head_ref|github\.ref_name)")

every_workflow = pytest.mark.parametrize("file", WORKFLOWS, ids=lambda file: file.name)


def test_both_kinds_of_workflow_are_there() -> None:
    assert len(WORKFLOWS) >= 2


@every_workflow
def test_every_action_is_pinned_by_digest(file: Path) -> None:
    lines = [line.strip("- ") for line in file.read_text(encoding="utf-8").splitlines()]
    used = [line for line in lines if line.startswith("uses:")]
    assert used
    assert [line for line in used if not _PINNED.search(line)] == []


@every_workflow
def test_no_script_holds_text_from_outside(file: Path) -> None:
    scripts = [step["run"] for step in _steps(file) if "run" in step]
    assert scripts
    assert [script for script in scripts if _UNTRUSTED.search(script)] == []


@every_workflow
def test_permissions_are_read_only(file: Path) -> None:
    assert _load(file)["permissions"] == {"contents": "read"}


@every_workflow
def test_no_failure_is_ignored(file: Path) -> None:
    assert "continue-on-error" not in file.read_text(encoding="utf-8")
    assert "|| true" not in file.read_text(encoding="utf-8")


def test_workflow_and_gate_call_the_same_target() -> None:
    gate = ROOT / ".ci" / "run"
    assert os.access(gate, os.X_OK)
    assert re.search(r"^make .*\bci\b", gate.read_text(encoding="utf-8"), re.MULTILINE)
    scripts = [step.get("run") for step in _steps(ROOT / ".github" / "workflows" / "ci.yml")]
    assert "make ci" in scripts


def _load(file: Path) -> Any:
    return yaml.safe_load(file.read_text(encoding="utf-8"))


def _steps(file: Path) -> list[dict[str, Any]]:
    return [step for job in _load(file)["jobs"].values() for step in job["steps"]]
