"""Policy folders and corpora made to hold the tools up, to bring them down, or to lead them elsewhere."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from support.command_line import Result
from support.documents import a_change

RunCli = Callable[..., Result]
DEEP = "[" * 3000 + "]" * 3000
VERBS = [
    ["check"],
    ["test"],
    ["mutate"],
    ["docs"],
    ["sign"],
    ["diff", "--base", "HEAD"],
    ["new", "sized"],
]


def _pipe(folder: Path) -> Path:
    os.mkfifo(folder / "org/freeze/data.json")
    return folder / "org/freeze/data.json"


def _pipe_of_explanations(folder: Path) -> Path:
    os.mkfifo(folder / "mutation.toml")
    return folder / "mutation.toml"


def _link(folder: Path) -> Path:
    (folder / "org/freeze/endless.rego").symlink_to("/dev/zero")
    return folder / "org/freeze/endless.rego"


def _linked_folder(folder: Path) -> Path:
    (folder / "org/sized").symlink_to(folder.parent.parent)
    return folder / "org/sized"


def _deep_rego(folder: Path) -> Path:
    (folder / "org/freeze/deep.rego").write_text(f"package org.freeze\n\nx := {DEEP}\n")
    return folder / "org/freeze/deep.rego"


def _deep_annotation(folder: Path) -> Path:
    file = folder / "org/freeze/freeze.rego"
    file.write_text(file.read_text().replace("code: org.freeze", f"code: {DEEP}"))
    return file


def _deep_explanations(folder: Path) -> Path:
    (folder / "mutation.toml").write_text(f"x = {DEEP}\n")
    return folder / "mutation.toml"


@pytest.mark.parametrize("verb", VERBS, ids=lambda verb: verb[0])
@pytest.mark.parametrize(
    "plant",
    [
        _pipe,
        _pipe_of_explanations,
        _link,
        _linked_folder,
        _deep_rego,
        _deep_annotation,
        _deep_explanations,
    ],
)
def test_folder_that_is_not_to_be_read_is_named_by_every_verb(
    project: Path, run_cli: RunCli, plant: Callable[[Path], Path], verb: list[str]
) -> None:
    planted = plant(project / "policy")
    refused = run_cli("policy", *verb, "--json", cwd=project)
    assert refused.code == 2
    told = refused.json["error"]
    assert told["code"] in ("policy.invalid", "policy.exists")
    assert planted.name in (told["file"] + told["message"])


def test_rule_is_not_written_through_a_linked_folder(
    project: Path, run_cli: RunCli, tmp_path: Path
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (project / "policy-examples").symlink_to(elsewhere)
    assert run_cli("policy", "new", "sized", cwd=project).code == 2
    assert list(elsewhere.iterdir()) == []
    assert not (project / "policy/org/sized").exists()


def test_rule_is_written_whole_or_not_at_all(project: Path, run_cli: RunCli) -> None:
    (project / "policy-examples/sized.input.json").mkdir(parents=True)
    refused = run_cli("policy", "new", "sized", "--force", "--json", cwd=project)
    assert (refused.code, refused.json["error"]["code"]) == (2, "file.unwritable")
    assert not (project / "policy/org/sized").exists()


@pytest.mark.parametrize("name", ["policy/org/freeze/freeze.rego", "pipe", "policy"])
def test_reference_replaces_no_rule_and_nothing_that_is_no_file(
    project: Path, run_cli: RunCli, name: str
) -> None:
    os.mkfifo(project / "pipe")
    before = (project / "policy/org/freeze/freeze.rego").read_bytes()
    assert run_cli("policy", "docs", "--out", name, cwd=project).code == 2
    assert (project / "policy/org/freeze/freeze.rego").read_bytes() == before
    assert (project / "pipe").is_fifo()


@pytest.mark.promise("BR-17")
@pytest.mark.parametrize(
    "case",
    [
        {"context": {}},
        {**a_change(), "context": {"config": 7}},
        "pipe",
        "link",
    ],
)
def test_case_that_is_no_document_is_refused_and_not_taken_for_unchanged(
    project: Path, run_cli: RunCli, case: object
) -> None:
    corpus = project / "corpus"
    corpus.mkdir()
    file = corpus / "odd.input.json"
    if case == "pipe":
        os.mkfifo(file)
    elif case == "link":
        file.symlink_to(project / "tipstaff.yaml")
    else:
        file.write_text(json.dumps(case))
    refused = run_cli(
        "policy", "diff", "--base", "HEAD", "--corpus", str(corpus), "--json", cwd=project
    )
    assert refused.code == 2
    assert "odd.input.json" in refused.json["error"]["file"]


@pytest.mark.parametrize("minimum", ["true", '"0"', "-1", "101"])
def test_minimum_that_is_no_percentage_is_refused(
    project: Path, run_cli: RunCli, minimum: str
) -> None:
    (project / "policy/mutation.toml").write_text(f"minimum = {minimum}\n")
    refused = run_cli("policy", "mutate", "--json", cwd=project)
    assert (refused.code, refused.json["error"]["code"]) == (2, "document.invalid")


@pytest.mark.parametrize("verb", VERBS, ids=lambda verb: verb[0])
def test_pipe_in_the_place_of_the_manifest_holds_nothing_up(
    project: Path, run_cli: RunCli, verb: list[str]
) -> None:
    (project / "policy/.manifest").unlink(missing_ok=True)
    os.mkfifo(project / "policy/.manifest")
    refused = run_cli("policy", *verb, "--json", cwd=project)
    assert (refused.code, refused.json["error"]["code"]) == (2, "policy.manifest")


@pytest.mark.parametrize("kind", ["pipe", "folder", "device"])
def test_what_is_no_file_is_no_key_and_holds_nothing_up(
    project: Path, run_cli: RunCli, kind: str
) -> None:
    key = project / ".tipstaff/keys/team.pem"
    key.unlink()
    if kind == "pipe":
        os.mkfifo(key)
    elif kind == "folder":
        key.mkdir()
    else:
        key.symlink_to("/dev/zero")
    refused = run_cli("policy", "sign", "--json", cwd=project)
    assert (refused.code, refused.json["error"]["code"]) == (2, "key.unreadable")


def test_pipe_in_the_place_of_the_bundle_is_no_bundle(project: Path, run_cli: RunCli) -> None:
    (project / "policy.tar.gz").unlink()
    os.mkfifo(project / "policy.tar.gz")
    found = run_cli("policy", "verify", "--json", cwd=project)
    assert found.code == 1
    assert found.json["links"][0]["code"] == "bundle.signature"


def test_overlay_that_is_gone_is_found_by_doctor(project: Path, run_cli: RunCli) -> None:
    (project / "policy.tar.gz").unlink()
    for file in sorted((project / "policy").rglob("*.rego")):
        file.unlink()
    parts = {part["part"]: part for part in run_cli("doctor", "--json", cwd=project).json["parts"]}
    assert not parts["bundles"]["ok"]
    assert parts["bundles"]["fix"]


def test_day_that_no_calendar_has_ends_no_waiver(project: Path, run_cli: RunCli) -> None:
    waiver = "{code: convention.format, owner: a, reason: b, expires: 2026-02-30}"
    (project / "waivers.yaml").write_text(f"schema_version: 1\nwaivers: [{waiver}]\n")
    refused = run_cli("policy", "check", "--json", cwd=project)
    assert (refused.code, refused.json["error"]["code"]) == (2, "document.invalid")
