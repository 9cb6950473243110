"""The reusable workflow, each of its scripts run by bash in a fresh clone of a governed repository."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from support.installation import Installation, environment
from support.readme import ROOT
from support.repositories import commit, write

WORKFLOW = yaml.safe_load((ROOT / ".github/workflows/govern.yml").read_text(encoding="utf-8"))
STEPS = [step for step in WORKFLOW["jobs"]["govern"]["steps"] if "run" in step]
COMMANDS = [step["run"] for step in STEPS if step["run"].startswith("tipstaff ")]
RULE = "policy/org/freeze/freeze.rego"


@pytest.fixture
def clone(project: Path, person: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The committed repository as a runner has it: no key, no state, and nobody at the keyboard."""
    monkeypatch.setenv("CI", "true")
    (person / "state" / "tipstaff").rename(person / "set-aside")
    subprocess.run(["git", "clone", "--quiet", project, tmp_path / "clone"], check=True)
    return tmp_path / "clone"


def test_every_check_passes_in_a_fresh_clone(installation: Installation, clone: Path) -> None:
    assert len(COMMANDS) >= 3
    for command in COMMANDS:
        done = _bash(command, clone, environment(installation.prefix))
        assert done.returncode == 0, f"{command}\n{done.stdout}"


def test_overlay_that_is_not_what_was_signed_fails_the_job(
    installation: Installation, clone: Path
) -> None:
    rule = (clone / RULE).read_text()
    write(clone, {RULE: rule.replace("deny contains", "escalate contains")})
    commit(clone, "soften the freeze")
    done = _bash("tipstaff check", clone, environment(installation.prefix))
    assert done.returncode == 1, done.stdout


@pytest.mark.req("CI-04")
def test_input_that_reads_like_a_command_is_an_argument(clone: Path) -> None:
    [step] = [step for step in STEPS if "PACKAGE" in step.get("env", {})]
    for text in ("x; touch planted; $(touch planted) `touch planted`", "--version"):
        given = {**environment(Path(sys.prefix)), "PACKAGE": text, "PIP_NO_INDEX": "1"}
        done = _bash(step["run"], clone, given)
        assert done.returncode != 0, done.stdout
        assert not (clone / "planted").exists()


def _bash(script: str, cwd: Path, environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    # As a runner calls it: https://docs.github.com/actions/reference/workflows-and-actions/workflow-syntax
    return subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script],
        cwd=cwd,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
