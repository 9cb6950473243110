"""The workflow `drift-check.yml`, its steps run for real: red on what breaks, one proposal of drift, no merge."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from support.remembered import remember
from support.repair_scene import Edit, nothing, remove, reword
from support.repositories import git
from support.served import Served
from support.workshop import Workshop

FILE = ".github/workflows/drift-check.yml"


@dataclass
class Runner:
    """A machine of CI: a clone of the project, and a folder for what steps leave."""

    root: Path
    temp: Path
    number: int = 0

    def step(self, job: str, name: str, **variables: str) -> tuple[int, dict[str, str], str]:
        """Run one step of the workflow that init wrote; its exit code, its outputs and the summary."""
        workflow: Any = yaml.safe_load((self.root / FILE).read_text(encoding="utf-8"))
        [step] = [one for one in workflow["jobs"][job]["steps"] if one.get("name") == name]
        self.number += 1
        output, summary = (self.temp / f"{kind}-{self.number}" for kind in ("output", "summary"))
        for file in (output, summary):
            file.touch()
        assert set(step["env"]) - {"GITHUB_TOKEN"} == set(variables)
        done = subprocess.run(
            ["bash", "-e", "-o", "pipefail", "-c", step["run"]],
            cwd=self.root,
            env={
                **os.environ,
                **variables,
                "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
                "CI": "true",
                "RUNNER_TEMP": str(self.temp),
                "GITHUB_OUTPUT": str(output),
                "GITHUB_STEP_SUMMARY": str(summary),
            },
            capture_output=True,
            check=False,
        )
        said = dict(line.split("=", 1) for line in output.read_text().splitlines())
        return done.returncode, said, summary.read_text() + done.stderr.decode()

    def check(self) -> tuple[int, str, str]:
        """The step that is red or green; what drifted."""
        code, said, told = self.step("check", "Servers held to their pinned contracts", SERVERS="")
        return code, said.get("drifted", ""), told

    def propose(self, drifted: str) -> tuple[int, str]:
        """The step that proposes."""
        name = "Propose what drifted, as the policy says"
        code, _, told = self.step("propose", name, DRIFTED=drifted)
        return code, told


@pytest.fixture
def served(workshop: Workshop, monkeypatch: pytest.MonkeyPatch) -> Served:
    """The server, pinned."""
    remember(monkeypatch)
    found = Served(workshop)
    found.pin()
    return found


@pytest.fixture
def runner(served: Served, tmp_path: Path) -> Runner:
    """A machine of CI."""
    temp = tmp_path / "runner"
    temp.mkdir()
    return Runner(served.root, temp)


@pytest.mark.req("CI-01")
def test_warning_is_green_and_one_proposal_and_no_merge(served: Served, runner: Runner) -> None:
    served.serve(reword)
    before = git(served.root, "rev-parse", "main")
    code, drifted, told = runner.check()
    assert (code, drifted) == (0, "weather"), told
    assert "- `weather`: drift, severity warning" in told
    for _ in range(2):
        code, told = runner.propose(drifted)
        assert code == 0, told
        [branch] = served.workshop.branches()
        assert branch.startswith("tipstaff/heal_warning/")
        assert len(served.workshop.pull_requests()) == 1
    assert git(served.root, "rev-parse", "main") == before
    assert git(served.root, "rev-list", "--merges", "--all") == ""


@pytest.mark.req("CI-01")
@pytest.mark.parametrize(("edit", "expected", "drift"), [(remove, 1, "weather"), (nothing, 0, "")])
def test_removed_tool_is_red_and_no_drift_is_green(
    served: Served, runner: Runner, edit: Edit, expected: int, drift: str
) -> None:
    served.serve(edit)
    code, drifted, told = runner.check()
    assert (code, drifted) == (expected, drift), told


@pytest.mark.req("CI-01", "C-16")
def test_server_that_does_not_start_is_red_and_its_sarif_is_there(
    served: Served, runner: Runner
) -> None:
    (served.root / "server/tools.json").write_text("not JSON")
    code, drifted, told = runner.check()
    assert (code, drifted) == (3, ""), told
    code, _, told = runner.step("check", "The same as SARIF", SERVERS="weather")
    assert code == 0, told
    assert '"version": "2.1.0"' in (runner.temp / "drift.sarif").read_text()


@pytest.mark.req("CI-01")
def test_project_without_servers_is_green_and_says_so(workshop: Workshop, tmp_path: Path) -> None:
    runner = Runner(workshop.root, tmp_path)
    code, drifted, told = runner.check()
    assert (code, drifted) == (0, ""), told
    assert "names no server" in told
