"""Each decision is on record before anything is done, with all it takes to understand and correct it."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from support.documents import a_change, a_file, an_act, without
from support.repositories import commit
from support.schemas import accepts, demand
from support.workshop import AUTOMATIC, Workshop
from tipstaff.documents.base import parse
from tipstaff.documents.input import ChangeEvidence
from tipstaff.errors import EvidenceError
from tipstaff.evidence.repository import Repository
from tipstaff.ledger.trail import Trail

EFFECTS = {"allow", "require_approval", "escalate", "deny"}
ESCAPE = "\x1b[2J"


@pytest.mark.req("AU-01", "AU-02")
def test_each_of_many_decisions_is_one_line_with_all_its_fields(workshop: Workshop) -> None:
    workshop.configure(autonomy={**AUTOMATIC, "heal_warning": "off", "audit": "auto"})
    documents: list[dict[str, Any]] = [
        a_change(),
        a_change("heal_breaking"),
        a_change("heal_warning"),
        a_change("heal_foo"),
        a_change(action__found_capabilities=None),
        a_change("audit", resource__files=[]),
        an_act("approve"),
        an_act("fly"),
    ]
    with workshop.engine() as engine:
        one_by_one = [engine.decide(document) for document in documents]
        together = engine.decide_many(documents)
    records = workshop.records()
    verdicts = [*one_by_one, *together]
    assert len(records) == len(verdicts) == 2 * len(documents)
    for record, verdict in zip(records, verdicts, strict=True):
        demand("audit_record", record)
        assert record["decision"] == verdict.effect
        assert record["decision_id"] == verdict.decision_id
        assert record["codes"] == verdict.codes
        assert record["bundle_revision"] == verdict.policy.revision
        assert record["actor"]["type"] == "human"
        assert record["input_sha256"]
    assert {record["decision"] for record in records} == EFFECTS
    assert [record["autonomy_tier"] for record in records[:3]] == [
        "auto-if-tests-pass",
        "propose",
        "off",
    ]
    assert records[0]["sandbox_backend"] == "bubblewrap"
    assert workshop.is_sound()


@pytest.mark.req("AU-02")
def test_line_that_lacks_a_field_or_has_an_unknown_decision_is_no_record(
    workshop: Workshop,
) -> None:
    workshop.decide(a_change())
    [record] = workshop.records()
    for field in record:
        assert not accepts("audit_record", without(record, field)), field
    assert not accepts("audit_record", {**record, "decision": "maybe"})


@pytest.mark.req("AU-01", "T-11")
def test_clamp_is_a_line_of_its_own(workshop: Workshop) -> None:
    workshop.prefer(autonomy={"heal_additive": "auto-if-tests-pass"})
    verdict = workshop.decide(a_change())
    decision, clamp = workshop.records()
    assert (decision["decision"], clamp["decision"]) == ("require_approval", "blocked-by-ceiling")
    assert clamp["decision_id"] == verdict.decision_id
    assert clamp["detail"] == {"requested": "auto-if-tests-pass", "ceiling": "propose"}


@pytest.mark.req("EX-01")
def test_decision_and_refusal_keep_event_evidence_preferences_outcome_and_correction(
    workshop: Workshop,
) -> None:
    workshop.configure(autonomy={**AUTOMATIC, "heal_warning": "off"})
    for document, effect in ((a_change(), "allow"), (a_change("heal_warning"), "deny")):
        verdict = workshop.decide(document)
        detail = workshop.records()[-1]["detail"]
        demand("explanation", detail)
        assert detail["event"]["action"] == document["action"]
        written, given = (parse(ChangeEvidence, each["evidence"]) for each in (detail, document))
        assert written == given
        assert detail["preferences"]["config"]["team"]["autonomy"]["heal_warning"] == "off"
        assert detail["outcome"]["effect"] == verdict.effect == effect
        assert detail["correction"][0] == verdict.reasons[0].solution
        assert not accepts("explanation", without(detail, "correction"))
        assert not accepts("explanation", {**detail, "correction": []})
    assert len(workshop.records()) == 2


@pytest.mark.req("EX-01")
def test_pause_is_on_record_with_the_way_out(workshop: Workshop) -> None:
    workshop.configure(autonomy=AUTOMATIC)
    workshop.run("pause", "--reason", "lunch")
    workshop.decide(a_change())
    paused = workshop.records()[-1]
    assert paused["codes"] == ["pause.global"]
    assert "resume" in paused["detail"]["correction"][0]


@pytest.mark.req("AU-04")
def test_record_is_durable_before_the_branch_is_made(
    workshop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[list[str]] = []
    make = Repository.create_branch

    def look(self: Repository, name: str, commit: str) -> str:
        seen.append(workshop.entries())
        return make(self, name, commit)

    monkeypatch.setattr(Repository, "create_branch", look)
    assert workshop.propose().effects.branch
    assert seen == [["detected", "require_approval"]]


@pytest.mark.promise("L5")
@pytest.mark.req("AU-04", "EX-02")
def test_decision_that_cannot_be_appended_carries_nothing_out(
    workshop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    workshop.configure(autonomy=AUTOMATIC)
    diff = workshop.diff()

    def full(self: Trail, *records: Any) -> Any:
        raise EvidenceError("trail.unwritable", "no space left on device", fix="free space")

    with monkeypatch.context() as patch:
        patch.setattr(Trail, "append", full)
        answer = workshop.propose_cli(diff, "--json")
    verdict = answer.json["verdict"]
    assert answer.code == 3
    assert (verdict["effect"], verdict["codes"]) == ("escalate", ["explanation.unpersisted"])
    assert (workshop.branches(), workshop.pull_requests()) == ([], {})
    assert answer.json["approval"] is None


def run_on_full_disk(workshop: Workshop, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run ``tipstaff`` where no file may grow beyond the trail's present size."""
    limit = (workshop.state / "audit-trail.jsonl").stat().st_size

    def tighten() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    return subprocess.run(
        [sys.executable, "-c", "from tipstaff.cli import main; main()", *arguments],
        cwd=workshop.root,
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=tighten,
    )


@pytest.mark.promise("L5", "row 92", "BR-31")
@pytest.mark.req("AU-04", "EX-02")
def test_full_disk_escalates_and_leaves_no_branch(project: Path, tmp_path: Path) -> None:
    workshop = Workshop(project)
    workshop.run("change", "list")
    # The sidecar runs before the disk is full, and the trail is larger than what git writes.
    files = [a_file(f"skills/{number}.md") for number in range(400)]
    workshop.decide(a_change(resource__files=files))
    before = workshop.records()
    file = tmp_path / "change.diff"
    file.write_bytes(workshop.diff())
    ended = run_on_full_disk(
        workshop, "change", "propose", "--class", "heal_additive", "--diff", str(file), "--json"
    )
    verdict = json.loads(ended.stdout)["verdict"]
    assert (verdict["effect"], verdict["codes"]) == ("escalate", ["explanation.unpersisted"])
    assert ended.returncode == 3
    assert workshop.records() == before
    assert (workshop.branches(), workshop.pull_requests()) == ([], {})
    assert workshop.run("approvals", "list", "--json").json["requests"] == []
    assert workshop.is_sound()
    assert workshop.propose().effects.branch


@pytest.mark.promise("L5", "row 92")
@pytest.mark.req("EX-02")
@pytest.mark.skipif(os.geteuid() != 0, reason="root may mount a small file system")
def test_full_file_system_escalates(
    workshop: Workshop, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    small = tmp_path / "small"
    small.mkdir()
    mount = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", small], check=False)
    if mount.returncode != 0:
        pytest.skip("this root may not mount")
    try:
        state = small / "state"
        monkeypatch.setenv("TIPSTAFF_STATE_DIR", str(state))
        workshop.decide(a_change())
        with open(small / "filler", "wb", buffering=0) as filler, pytest.raises(OSError):
            while True:
                filler.write(b"x" * 4096)
        verdict = workshop.decide(a_change())
        assert (verdict.effect, verdict.codes) == ("escalate", ["explanation.unpersisted"])
        (small / "filler").unlink()
        assert workshop.decide(a_change()).effect == "require_approval"
    finally:
        subprocess.run(["umount", "--lazy", small], check=True)


@pytest.mark.promise("A6", "row 94")
@pytest.mark.req("EX-05")
def test_text_from_outside_is_kept_and_shown_escaped_and_labelled(workshop: Workshop) -> None:
    name = f"skills/word-count/{ESCAPE}\u202egnp.md"
    (workshop.root / name).write_text("x\n")
    commit(workshop.root, f"add {ESCAPE}")
    diff = workshop.diff({name: "x\ny\n", "README.md": f"# Skills {ESCAPE}\n"})
    answer = workshop.propose_cli(diff, "--subject", f"al{ESCAPE}ice")
    decision = workshop.records()[-1]
    assert decision["detail"]["untrusted"] == ["event", "evidence"]
    shown = workshop.run("explain", decision["decision_id"])
    listed = [workshop.run(*verb) for verb in (("audit", "list"), ("change", "list"))]
    for text in (answer, shown, *listed):
        assert "\x1b" not in text.stdout + text.stderr
        assert "\u202e" not in text.stdout + text.stderr
    assert "untrusted" in shown.stdout
    assert b"\x1b" not in (workshop.state / "audit-trail.jsonl").read_bytes()


@pytest.mark.req("EX-05")
def test_note_from_outside_is_escaped_wherever_it_is_kept(workshop: Workshop) -> None:
    key = workshop.propose().effects.approval.key
    rejected = workshop.run("approvals", "reject", key, "--note", f"{ESCAPE} ![x](http://evil)")
    assert rejected.code == 0
    [text] = workshop.pull_requests().values()
    assert "\x1b" not in text + rejected.stdout + workshop.run("approvals", "show", key).stdout
    assert "`" in text.split("## Closed")[1]
    assert b"\x1b" not in (workshop.state / "audit-trail.jsonl").read_bytes()


@pytest.mark.req("EX-05")
def test_endless_text_is_capped_where_it_is_shown(workshop: Workshop) -> None:
    key = workshop.propose().effects.approval.key
    workshop.run("approvals", "reject", key, "--note", "x" * 100_000)
    [text] = workshop.pull_requests().values()
    assert len(text) < 20_000
    assert len(workshop.run("audit", "list").stdout) < 20_000
    assert len(workshop.records()[-1]["detail"]["note"]) < 2_100
