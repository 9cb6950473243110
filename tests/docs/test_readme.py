"""The README is executed, and names what the code knows: no more and no less."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from pydantic import BaseModel

from support.command_line import Result
from support.readme import README, ROOT, block, commands
from support.repositories import commit, write
from tipstaff.documents.config import LocalConfig, TeamConfig

SOURCE = ROOT / "cmd" / "tipstaff"
_VARIABLE = re.compile(r"\b(?:TIPSTAFF|SKYTWIN|GITHUB|XDG)_[A-Z][A-Z0-9_]*\b")
# Handed to git for one push, and meant for nobody else.
_INTERNAL = {"TIPSTAFF_PUSH_TOKEN"}
_OURS = re.compile(r"^\| `([^|]*)` \|", re.MULTILINE)


def test_quick_start_does_what_it_says(
    repository: Path, shell: Callable[..., str], run_cli: Callable[..., Result], tmp_path: Path
) -> None:
    key = ""
    for command, code in commands("quick-start"):
        line = command.replace("/tmp/fix.patch", str(tmp_path / "fix.patch"))
        shell(re.sub(r"\bKEY\b", key, line), repository, code)
        if command == "tipstaff approvals list":
            waiting = run_cli("approvals", "list", "--json", cwd=repository).json["requests"]
            key = waiting[0]["key"]
    changes = run_cli("change", "list", "--json", cwd=repository).json["changes"]
    assert [change["state"] for change in changes] == ["ready"]


def test_embedding_example_works(project: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", block("embedding")],
        cwd=project,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == "require_approval ['gate.require_human', 'tier.propose']\n"


def test_example_team_file_is_valid(repository: Path, run_cli: Callable[..., Result]) -> None:
    [example] = re.findall(r"```yaml\n(.*?)```", _section("Configuration"), re.DOTALL)
    write(repository, {"tipstaff.yaml": example})
    commit(repository, "configure")
    assert run_cli("check", cwd=repository).code == 0


def test_every_variable_of_the_code_is_explained_and_no_other() -> None:
    explained = set(_VARIABLE.findall(_section("Environment variables")))
    read = set()
    for file in SOURCE.rglob("*.py"):
        read |= set(_VARIABLE.findall(file.read_text(encoding="utf-8")))
    assert explained == read - _INTERNAL


def test_every_agent_variable_is_explained() -> None:
    from tipstaff.project import _AGENT_VARIABLES

    section = _section("Environment variables")
    assert [name for name in _AGENT_VARIABLES if f"`{name}`" not in section] == []


def test_every_setting_is_explained_and_no_other() -> None:
    explained = {
        name.partition("<")[0].rstrip(".") for name in _OURS.findall(_section("Configuration"))
    }
    known = {*_leaves(TeamConfig), *_leaves(LocalConfig)}
    assert explained == {re.sub(r"(contracts\.servers)\..*", r"\1", name) for name in known}


@pytest.mark.parametrize(
    "document",
    [file for place in ("*.md", "policy/*.md", ".github/*.md") for file in ROOT.glob(place)],
    ids=lambda file: file.name,
)
def test_every_link_inside_the_project_resolves(document: Path) -> None:
    text = re.sub(r"```.*?```", "", document.read_text(encoding="utf-8"), flags=re.DOTALL)
    anchors = {_anchor(line.lstrip("# ")) for line in text.splitlines() if line.startswith("#")}
    broken = []
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        path, _, anchor = target.partition("#")
        if "://" in target:
            continue
        if path and not (document.parent / path).exists():
            broken.append(target)
        if anchor and not path and anchor not in anchors:
            broken.append(target)
    assert broken == []


def _section(title: str) -> str:
    text = README.read_text(encoding="utf-8")
    found = re.search(rf"^## {re.escape(title)}\n(.*?)(?=^## )", text, re.DOTALL | re.MULTILINE)
    assert found is not None, title
    return found[1]


def _anchor(heading: str) -> str:
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


def _leaves(model: type[BaseModel], prefix: str = "") -> list[str]:
    found = []
    for name, field in model.model_fields.items():
        inner = [part for part in _parts(field.annotation) if isinstance(part, type)]
        nested = [part for part in inner if issubclass(part, BaseModel)]
        path = f"{prefix}{name}"
        found += _leaves(nested[0], f"{path}.") if nested else [path]
    return found


def _parts(annotation: object) -> list[object]:
    return list(getattr(annotation, "__args__", None) or [annotation])
