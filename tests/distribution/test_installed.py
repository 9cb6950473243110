"""Tipstaff from its wheel, in a repository that has nothing to do with the checkout."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from support.installation import Installation
from support.readme import ROOT
from support.repositories import commit, make_repository
from tipstaff import __version__


@pytest.fixture
def governed(installation: Installation, tmp_path: Path) -> Path:
    """A repository that the installed program has set up."""
    root = make_repository(tmp_path / "elsewhere")
    done = installation.run("init", cwd=root)
    assert done.returncode == 0, done.stderr
    commit(root, "set tipstaff up")
    return root


def test_program_says_its_version_in_an_empty_folder(
    installation: Installation, tmp_path: Path
) -> None:
    done = installation.run("--version", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, f"tipstaff {__version__}\n"), done.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_program_prints_completion_in_an_empty_folder(
    installation: Installation, tmp_path: Path, shell: str
) -> None:
    done = installation.run("completion", shell, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "_TIPSTAFF_COMPLETE" in done.stdout


def test_set_up_repository_passes_every_check(installation: Installation, governed: Path) -> None:
    for verb in (["check"], ["policy", "check"], ["policy", "test"], ["policy", "sign"]):
        done = installation.run(*verb, "--json", cwd=governed)
        assert done.returncode == 0, done.stdout + done.stderr
        json.loads(done.stdout)
    written = (governed / ".github/workflows/tipstaff.yml").read_text()
    starter = (ROOT / "cmd/tipstaff/starter/workflows/tipstaff.yml").read_text()
    pinned = f"pip install tipstaff=={__version__}\n"
    assert written == starter.replace("pip install tipstaff\n", pinned) != starter


def test_doctor_finds_every_part_working(installation: Installation, governed: Path) -> None:
    done = installation.run("doctor", "--json", cwd=governed)
    parts = json.loads(done.stdout)["parts"]
    assert [part for part in parts if not part["ok"]] == []
    assert done.returncode == 0


def test_installed_program_judges_its_own_examples(
    installation: Installation, governed: Path
) -> None:
    [packages] = installation.prefix.glob("lib/python*/site-packages")
    examples = packages / "tipstaff/declared/contracts/examples"
    audit = json.loads((examples / "change-allow.input.json").read_bytes())
    audit["action"]["class"] = "audit"
    audit["resource"]["files"] = []
    refused = json.loads((examples / "change-deny.input.json").read_bytes())
    for document, code, effect in ((audit, 0, "allow"), (refused, 1, "deny")):
        (governed / "input.json").write_text(json.dumps(document))
        done = installation.run("decide", "input.json", "--json", cwd=governed)
        assert done.returncode == code, done.stdout + done.stderr
        assert json.loads(done.stdout)["effect"] == effect
