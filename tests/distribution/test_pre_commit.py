"""The hooks that other repositories name, run by pre-commit itself."""

from __future__ import annotations

import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest
import yaml

from support.installation import copy_checkout
from support.readme import ROOT
from support.repositories import commit, write

MANIFEST = ROOT / ".pre-commit-hooks.yaml"
RULE = "policy/org/freeze/freeze.rego"


@pytest.fixture
def hooked(project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A governed repository whose pre-commit configuration names every hook of this checkout."""
    source = tmp_path / "tipstaff"
    copy_checkout(source)
    subprocess.run(["git", "init", "--quiet", source], check=True)
    subprocess.run(["git", "-C", source, "add", "--all"], check=True)
    revision = commit(source, "release")
    # pip builds and installs from what the tests' own environment holds, so no registry is asked.
    monkeypatch.setenv("PYTHONPATH", sysconfig.get_path("purelib"))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_NO_DEPS", "1")
    monkeypatch.setenv("PIP_NO_BUILD_ISOLATION", "0")
    monkeypatch.setenv("PRE_COMMIT_HOME", str(tmp_path / "pre-commit"))
    hooks = [{"id": hook["id"]} for hook in yaml.safe_load(MANIFEST.read_text())]
    named = {"repos": [{"repo": str(source), "rev": revision, "hooks": hooks}]}
    write(project, {".pre-commit-config.yaml": yaml.safe_dump(named)})
    return project


def test_manifest_of_hooks_is_valid() -> None:
    done = _pre_commit("validate-manifest", str(MANIFEST), cwd=ROOT)
    assert done.returncode == 0, done.stdout


def test_hooks_pass_a_sound_overlay_and_stop_a_broken_one(hooked: Path) -> None:
    sound = _pre_commit("run", "--all-files", cwd=hooked)
    assert sound.returncode == 0, sound.stdout
    assert sound.stdout.count("Passed") == len(yaml.safe_load(MANIFEST.read_text()))
    unrelated = _pre_commit("run", "--files", "README.md", cwd=hooked)
    assert unrelated.returncode == 0, unrelated.stdout
    assert "Passed" not in unrelated.stdout
    rule = (hooked / RULE).read_text()
    write(hooked, {RULE: rule.replace("deny contains", "escalate contains")})
    broken = _pre_commit("run", "--files", RULE, cwd=hooked)
    assert broken.returncode == 1, broken.stdout
    assert "- hook id: tipstaff-check\n- exit code: 1" in broken.stdout
    assert "- hook id: tipstaff-policy-test\n- exit code: " in broken.stdout


def _pre_commit(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "pre_commit", *arguments],
        cwd=cwd,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
