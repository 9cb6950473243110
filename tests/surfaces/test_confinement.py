"""What a caller may name: references on the list, files below listed folders, and the operator's own store."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from support.command_line import run
from support.hosts import Caller, a_spec, attested, caller, records
from support.workshop import Workshop
from tipstaff.harness import reference

PROVER = "def proves(modification):\n    return {'status': 'proved', 'detail': 'by looking'}\n"


@pytest.fixture
def agent(workshop: Workshop) -> Caller:
    return caller(workshop)


def refused(found: dict[str, Any], code: str, field: str) -> None:
    """The call was an error of this code, at this field."""
    assert found["ok"] is False, found
    assert (found["error"]["code"], found["error"]["field"]) == (code, field)


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The references that were looked for at all."""
    found: list[str] = []
    note_asked(monkeypatch, found)
    return found


def note_asked(patch: pytest.MonkeyPatch, found: list[str]) -> None:
    """Have references written down where they would be looked for."""

    def ask(_specification: Any, name: str, *_: Any) -> Any:
        found.append(name)
        raise AssertionError("a reference was asked")

    patch.setattr(reference, "_ask", ask)


NOT_LISTED: list[tuple[str | None, str | None]] = [
    (None, None),
    ("", None),
    (None, ""),
    ("wiring", ""),
    ("", "wiring"),
    ("wirin", None),
    ("wiring.", None),
    ("wiring.inner.deeper", None),
    ("wiring2", None),
    ("other", "wiring"),
    ("wiring", "other"),
    ("wiring.*", None),
    ("*", None),
    (".", None),
    ("wiring.inner:build", None),
]
LISTED: list[tuple[str | None, str | None]] = [
    ("wiring", None),
    (None, "wiring"),
    ("a, wiring.inner b", None),
    ("wiring.inner:prover", None),
    ("wiring", "wiring.inner"),
]


def list_references(patch: pytest.MonkeyPatch, ours: str | None, theirs: str | None) -> None:
    """Set both lists, or leave them unset."""
    for name, value in {"TIPSTAFF": ours, "AGENTDESCENT": theirs}.items():
        patch.delenv(f"{name}_SURFACE_ALLOW", raising=False)
        if value is not None:
            patch.setenv(f"{name}_SURFACE_ALLOW", value)


@pytest.mark.req("M-03")
@pytest.mark.parametrize("field", ["prover", "gate"])
def test_reference_that_is_not_on_every_list_is_refused_before_it_is_looked_for(
    agent: Caller, monkeypatch: pytest.MonkeyPatch, asked: list[str], field: str
) -> None:
    spec = a_spec(**{field: "wiring.inner:prover"})
    for ours, theirs in NOT_LISTED:
        list_references(monkeypatch, ours, theirs)
        for dry_run in (True, False):
            refused(agent.harness(spec, dry_run=dry_run), "surface.reference", field)
    assert asked == []
    decisions = [record.decision for record in records(agent.workshop.root)]
    assert decisions == ["refused"] * 2 * len(NOT_LISTED)


@pytest.mark.req("M-03")
def test_reference_that_is_on_every_list_is_asked(
    agent: Caller, monkeypatch: pytest.MonkeyPatch, asked: list[str]
) -> None:
    for ours, theirs in LISTED:
        list_references(monkeypatch, ours, theirs)
        agent.harness(a_spec(prover="wiring.inner:prover"))
    assert asked == ["wiring.inner:prover"] * len(LISTED)


@pytest.mark.req("M-03")
def test_prover_on_the_list_proves_in_the_sandbox(
    agent: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    (agent.workshop.root / "wiring.py").write_text(PROVER)
    monkeypatch.setenv("TIPSTAFF_SURFACE_ALLOW", "wiring")
    found = agent.harness(a_spec(prover="wiring:proves"))
    assert (found["promoted"], found["proof"]["detail"]) == (True, "by looking")
    assert "proof" in found["untrusted"]


@pytest.mark.req("M-03")
def test_command_line_asks_any_reference_tells_it_and_is_strict_where_it_is_told_to_be(
    workshop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    (workshop.root / "wiring.py").write_text(PROVER)
    (workshop.root / "governed.json").write_text(json.dumps(a_spec(prover="wiring:proves")))
    verb = ("governed-harness", "run", "--spec", "governed.json", "--json")
    for strict, code in (("--strict-refs", 2), ("", 0)):
        answer = workshop.run(*verb, *filter(None, [strict]))
        assert answer.code == code, answer.stderr
        assert ("asking wiring:proves" in answer.stderr) is (code == 0)
    assert answer.json["notes"][0] == "asked by reference: prover wiring:proves"
    decided = [each for each in records(workshop.root) if each.decision == "allow"]
    assert decided[0].detail["evidence"]["supplied"]["references"] == ["prover wiring:proves"]
    monkeypatch.setenv("TIPSTAFF_SURFACE_ALLOW", "wiring")
    assert workshop.run(*verb, "--strict-refs").code == 0
    plan = ("governed-harness", "plan", "--spec", "governed.json", "--strict-refs")
    assert workshop.run(*plan).code == 0
    monkeypatch.setenv("TIPSTAFF_SURFACE_ALLOW", "wir")
    assert workshop.run(*plan).code == 2


@pytest.mark.req("M-04")
def test_file_outside_the_listed_folders_is_refused_and_nothing_of_it_is_told(
    agent: Caller, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    inside, outside = tmp_path / "inside", tmp_path / "outside"
    inside.mkdir()
    outside.mkdir()
    (outside / "secret.json").write_text('{"canary-content": 1, "canary-content": 2}')
    (inside / "link.json").symlink_to(outside / "secret.json")
    (inside / "folder").symlink_to(outside)
    (tmp_path / "inside-not").mkdir()
    (tmp_path / "inside-not" / "x.json").write_text("{}")
    names = [
        "/etc/passwd",
        "/etc/no-such-file",
        str(outside / "secret.json"),
        f"{inside}/../outside/secret.json",
        str(inside / "link.json"),
        str(inside / "folder" / "secret.json"),
        str(tmp_path / "inside-not" / "x.json"),
        "../../outside/secret.json",
        "tipstaff.yaml",
        "/dev/stdin",
        "/proc/self/environ",
    ]
    for field in ("before", "after", "rules", "rollback_current"):
        told = set()
        for lists in ("", str(inside), f"inside:{inside}"):
            monkeypatch.setenv("TIPSTAFF_SURFACE_READ_DIRS", lists)
            for name in names:
                found = agent.harness(a_spec(**{field: name}), dry_run=True)
                refused(found, "surface.read", field)
                told.add(json.dumps(found))
        assert len(told) == 1, "what there is outside cannot be told from what there is not"
        assert "canary-content" not in told.pop()


@pytest.mark.req("M-04")
def test_link_that_is_put_in_the_way_after_the_look_leads_nowhere(
    agent: Caller, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    inside, outside = tmp_path / "inside", tmp_path / "outside"
    inside.mkdir()
    (outside / "deep").mkdir(parents=True)
    (outside / "deep/before.json").write_text(json.dumps(attested({"parse": 0.8, "plan": 0.7})))
    (inside / "folder").symlink_to(outside)
    for name in ("READ_DIRS", "WRITE_DIRS"):
        monkeypatch.setenv(f"TIPSTAFF_SURFACE_{name}", str(inside))
    # As if the folder had been a plain one when it was looked at.
    monkeypatch.setattr("os.path.realpath", lambda path, **_: os.path.normpath(path))
    inner = inside / "folder/deep"
    refused(agent.harness(a_spec(before=f"{inner}/before.json")), "surface.read", "before")
    refused(agent.harness(out=f"{inner}/receipt.json"), "surface.write", "out")
    assert [path.name for path in (outside / "deep").iterdir()] == ["before.json"]


@pytest.mark.req("M-04")
def test_file_in_a_listed_folder_is_read(
    agent: Caller, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    scores = tmp_path / "scores"
    scores.mkdir()
    (scores / "before.json").write_text(json.dumps(attested({"parse": 0.8, "plan": 0.7})))
    (tmp_path / "way").symlink_to(scores)
    monkeypatch.setenv("TIPSTAFF_SURFACE_READ_DIRS", f"/nowhere:{tmp_path / 'way'}")
    for name in (f"{scores}/before.json", f"{tmp_path}/way/before.json"):
        assert agent.harness(a_spec(before=name), dry_run=True)["promoted"] is True
    refused(agent.harness(a_spec(before=f"{scores}/none.json")), "file.unreadable", "before")
    os.mkfifo(scores / "pipe")
    refused(agent.harness(a_spec(before=f"{scores}/pipe")), "file.unreadable", "before")


@pytest.mark.req("M-04")
@pytest.mark.parametrize("theirs", [None, "both", "other"])
def test_report_is_written_below_every_listed_folder_and_nowhere_else(
    agent: Caller, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, theirs: str | None
) -> None:
    good, outside = tmp_path / "ok", tmp_path / "outside"
    good.mkdir()
    outside.mkdir()
    (good / "folder").symlink_to(outside)
    (good / "link.json").symlink_to(outside / "report.json")
    (good / "kept.json").write_text("{}")
    bad = [
        f"{good}/../outside/x.json",
        f"{good}/folder/x.json",
        f"{good}/link.json",
        str(outside / "x.json"),
        "/etc/x.json",
        "receipt.json",
        str(good),
        f"{good}/..",
    ]
    for name in bad:
        refused(agent.harness(out=name), "surface.write", "out")
    monkeypatch.setenv("TIPSTAFF_SURFACE_WRITE_DIRS", str(good))
    if theirs is not None:
        other = {"both": tmp_path, "other": outside}[theirs]
        monkeypatch.setenv("AGENTDESCENT_SURFACE_WRITE_DIRS", str(other))
    for name in bad:
        refused(agent.harness(out=name), "surface.write", "out")
    if theirs == "other":
        refused(agent.harness(out=f"{good}/report.json"), "surface.write", "out")
    else:
        for _ in range(2):
            found = agent.harness(out=f"{good}/report.json")
            assert found["promoted"] is True
            written = json.loads((good / "report.json").read_text())
            assert written["decision_id"] == found["decision_id"]
        refused(agent.harness(out=f"{good}/kept.json"), "file.exists", "out")
        refused(agent.harness(out=f"{good}/absent/report.json"), "file.unwritable", "out")
    assert list(outside.iterdir()) == []
    assert (good / "kept.json").read_text() == "{}"
    refused(agent.harness(out=f"{good}/plan.json", dry_run=True), "document.invalid", "out")


@pytest.mark.req("AP-06")
def test_only_the_operators_store_counts_whatever_a_specification_names(
    agent: Caller, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    root, own = agent.workshop.root, tmp_path / "own.jsonl"
    spec = a_spec(approval_store=str(own))
    (root / "governed.json").write_text(json.dumps(spec))
    assert workshop_run(root).json["outcome"] == "defer"
    [request] = [json.loads(line) for line in own.read_text().splitlines()]
    key = request["request"]["key"] if "request" in request else request["key"]
    approve = ("governed-harness", "approve", "--store", own, "--key", key)
    assert run(*approve, cwd=root).code == 0
    assert workshop_run(root).json["outcome"] == "promote"
    refused(agent.harness(spec), "approval.store_not_pinned", "approval_store")
    pinned = tmp_path / "pinned.jsonl"
    monkeypatch.setenv("TIPSTAFF_APPROVAL_STORE", str(pinned))
    for name in (str(own), "own.jsonl", "postgresql://u@127.0.0.1:9/x"):
        refused(
            agent.harness(a_spec(approval_store=name)),
            "approval.store_not_pinned",
            "approval_store",
        )
    assert not pinned.exists()
    for name in (str(pinned), f"{tmp_path}/../{tmp_path.name}/pinned.jsonl", "../pinned.jsonl"):
        found = agent.harness(a_spec(approval_store=name))
        assert (found["ok"], found["outcome"]) == (True, "defer")
    assert len(pinned.read_text().splitlines()) == 1
    assert run(*approve[:3], pinned, "--key", found["approval"]["key"], cwd=root).code == 0
    assert agent.harness(a_spec(approval_store=str(pinned)))["promoted"] is True


@pytest.mark.req("AP-06")
def test_operators_store_with_a_key_believes_no_decision_that_is_not_vouched_for(
    agent: Caller, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    pinned, key = tmp_path / "pinned.jsonl", tmp_path / "key"
    key.write_bytes(bytes(range(32)))
    key.chmod(0o600)
    monkeypatch.setenv("TIPSTAFF_APPROVAL_STORE", str(pinned))
    spec = a_spec(approval_store=str(pinned))
    name = agent.harness(spec)["approval"]["key"]
    approve = ("governed-harness", "approve", "--store", pinned, "--key", name)
    assert agent.workshop.run(*approve).code == 0
    monkeypatch.setenv("TIPSTAFF_APPROVAL_MAC_KEY", str(key))
    found = agent.harness(spec)
    assert (found["ok"], found["error"]["code"]) == (False, "store.untrusted")


@pytest.mark.req("KG-06", "HP-13")
def test_scores_over_mcp_are_of_this_source_and_of_somebody_else(agent: Caller) -> None:
    plain = a_spec(before={"parse": 0.8}, after={"parse": 0.9})
    stale = a_spec(after=attested({"parse": 0.9, "plan": 0.9}, source="another source"))
    own = a_spec(after={**attested({"parse": 0.9, "plan": 0.9}), "producer": "agent-7@elsewhere"})
    told = [agent.harness(spec) for spec in (plain, stale, own)]
    assert [(each["ok"], each["outcome"], each["codes"][0]) for each in told] == [
        (True, "defer", "evidence.unattested"),
        (True, "reject", "evidence.stale"),
        (True, "reject", "evidence.self_produced"),
    ]


@pytest.mark.req("AP-06")
def test_operators_store_serves_where_the_team_asks_for_approval_and_none_is_named(
    agent: Caller, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert agent.harness()["promoted"] is True
    agent.workshop.configure(harness={"require_approval": True})
    assert agent.harness()["codes"] == ["approval.no_store"]
    monkeypatch.setenv("TIPSTAFF_APPROVAL_STORE", str(tmp_path / "pinned.jsonl"))
    found = agent.harness()
    assert (found["codes"], found["approval"]["status"]) == (["approval.pending"], "pending")


def workshop_run(root: Path) -> Any:
    """A person's own run of the specification in the root."""
    return run("governed-harness", "run", "--spec", "governed.json", "--json", cwd=root)


@pytest.mark.req("M-04")
def test_receipt_is_written_over_nothing_that_governs_the_project(
    agent: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = agent.workshop.root
    monkeypatch.setenv("TIPSTAFF_SURFACE_WRITE_DIRS", str(root))
    for name in (
        "tipstaff.local.yaml",
        ".git/hooks/post-commit.json",
        ".tipstaff/x.json",
        "policy/x.json",
        "contracts/x.json",
        ".mcp.json",
        "conftest.py",
    ):
        refused(agent.harness(out=name), "surface.write", "out")
    assert agent.harness(out="receipt.json")["ok"]


def test_receipt_is_not_waited_for_at_a_pipe(
    agent: Caller, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TIPSTAFF_SURFACE_WRITE_DIRS", str(tmp_path))
    os.mkfifo(tmp_path / "pipe")
    refused(agent.harness(out=str(tmp_path / "pipe")), "file.unwritable", "out")


@pytest.mark.parametrize("field", ["before", "approval_store", "rollback_current"])
def test_path_with_a_nul_is_refused_by_its_field(agent: Caller, field: str) -> None:
    refused(agent.harness(a_spec(**{field: "a\0b"})), "document.invalid", field)
    refused(agent.harness(out="a\0b"), "document.invalid", "out")
    assert {record.decision for record in records(agent.workshop.root)} == {"refused"}


@pytest.mark.req("M-02")
def test_no_answer_of_policy_is_an_error(agent: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIPSTAFF_OPA_URL", "http://127.0.0.1:1")
    monkeypatch.setenv("TIPSTAFF_OPA_TOKEN", "x" * 32)
    for dry_run in (True, False):
        found = agent.harness(dry_run=dry_run)
        assert (found["ok"], found["error"]["code"]) == (False, "engine.unavailable")
        assert found["untrusted"] == ["error"]
