"""The approval queue of the governed harness, at the command line."""

from __future__ import annotations

import json
import socket
from pathlib import Path

import pytest

from support.command_line import Result, run
from support.ledger_parts import asked
from support.workshop import Workshop
from tipstaff.documents.input import Actor
from tipstaff.ledger.approval_file import ApprovalFile
from tipstaff.project import current_actor

A, B, C = "a" * 64, "b" * 64, "c" * 64
AGENT = Actor(id="robot@desk", type="agent")


@pytest.fixture
def store(workshop: Workshop) -> Path:
    """Three requests of an agent; the last is rejected, and one needs two confirmations."""
    file = ApprovalFile(workshop.root / "approvals.jsonl")
    file.request(asked(A, requested_by=AGENT))
    file.request(asked(B, requested_by=AGENT, key=f"p:{B}", confirmations=2))
    file.request(asked(C, requested_by=AGENT))
    file.reject(C, Actor(id="bob@desk", type="human"))
    return file.path


def _harness(workshop: Workshop, *arguments: str) -> Result:
    return workshop.run("governed-harness", *arguments, "--store", "approvals.jsonl", "--json")


@pytest.mark.req("HC-08")
def test_missing_store_is_listed_as_an_empty_queue_in_an_empty_folder(tmp_path: Path) -> None:
    call = ("governed-harness", "approvals", "--store", "approvals.jsonl")
    answer = run(*call, "--json", cwd=tmp_path)
    assert answer.code == 0
    counts = {"pending": 0, "approved": 0, "rejected": 0}
    assert answer.json == {"requests": [], "counts": counts}
    assert run(*call, cwd=tmp_path).code == 0
    assert list(tmp_path.iterdir()) == []


@pytest.mark.req("HC-08")
def test_queue_is_listed_by_status_and_counted_whole(workshop: Workshop, store: Path) -> None:
    before = store.read_bytes()
    for status, keys in {
        None: [A, f"p:{B}"],
        "pending": [A, f"p:{B}"],
        "approved": [],
        "rejected": [C],
        "all": [A, f"p:{B}", C],
    }.items():
        answer = _harness(workshop, "approvals", *(["--status", status] if status else []))
        assert answer.code == 0
        assert [request["key"] for request in answer.json["requests"]] == keys
        assert answer.json["counts"] == {"pending": 2, "approved": 0, "rejected": 1}
    [request] = _harness(workshop, "approvals", "--status", "rejected").json["requests"]
    assert set(request) == {
        *("key", "status", "kind", "what", "why", "evidence", "risk", "alternatives", "urgency"),
        *("digest", "created_at", "expires_at", "decided_by"),
    }
    assert _harness(workshop, "approvals", "--status", "expired").code == 2
    assert store.read_bytes() == before


@pytest.mark.req("HC-09", "HC-11")
def test_decision_is_one_line_with_who_where_and_when(workshop: Workshop, store: Path) -> None:
    before = store.read_bytes()
    answer = _harness(workshop, "approve", "--key", A, "--note", "looks right")
    assert answer.code == 0, answer.stderr
    assert answer.json["request"]["status"] == "approved"
    after = store.read_bytes()
    assert after.startswith(before)
    [line] = after[len(before) :].splitlines()
    fields = json.loads(line)
    assert fields["by"] == {"id": current_actor().id, "type": "human"}
    assert fields["by"]["id"].endswith(f"@{socket.gethostname()}")
    assert (fields["status"], fields["note"]) == ("approved", "looks right")
    assert fields["at"].endswith("Z")
    assert workshop.entries()[-2:] == ["allow", "approved"]
    assert workshop.is_sound()


@pytest.mark.req("HC-10")
@pytest.mark.parametrize("verb", ["approve", "reject"])
def test_unknown_or_decided_key_exits_2_and_nothing_is_written(
    workshop: Workshop, store: Path, verb: str
) -> None:
    before = store.read_bytes()
    for key, code in {
        C: "approval.decided",
        "d" * 64: "approval.unknown",
        A[:12]: "approval.unknown",
        B: "approval.unknown",
        f"q:{B}": "approval.unknown",
        "": "approval.unknown",
    }.items():
        answer = _harness(workshop, verb, "--key", key)
        assert (answer.code, answer.json["error"]["code"]) == (2, code)
    answer = workshop.run("governed-harness", verb, "--store", "absent.jsonl", "--key", A)
    assert answer.code == 2
    assert not (workshop.root / "absent.jsonl").exists()
    assert store.read_bytes() == before


@pytest.mark.req("HC-11", "AP-04")
@pytest.mark.parametrize("verb", ["approve", "reject"])
@pytest.mark.parametrize("mark", ["TIPSTAFF_NESTED", "CLAUDECODE", "CI"])
def test_agent_and_ci_decide_nothing(
    workshop: Workshop, store: Path, verb: str, mark: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = store.read_bytes()
    monkeypatch.setenv(mark, "1")
    answer = _harness(workshop, verb, "--key", A)
    assert (answer.code, answer.json["error"]["code"]) == (2, "control.human_only")
    assert store.read_bytes() == before


@pytest.mark.req("AP-05")
def test_asker_does_not_approve_under_four_eyes_and_may_reject(workshop: Workshop) -> None:
    workshop.configure(approvals={"four_eyes": True})
    file = ApprovalFile(workshop.root / "approvals.jsonl")
    file.request(asked(A, requested_by=current_actor()))
    file.request(asked(B, requested_by=AGENT))
    before = file.path.read_bytes()
    answer = _harness(workshop, "approve", "--key", A)
    assert (answer.code, answer.json["error"]["code"]) == (2, "control.four_eyes")
    assert file.path.read_bytes() == before
    assert _harness(workshop, "approve", "--key", B).code == 0
    assert _harness(workshop, "reject", "--key", A).code == 0


@pytest.mark.req("AP-11", "AP-12")
def test_pair_of_confirmations_takes_the_printed_token(workshop: Workshop, store: Path) -> None:
    key = f"p:{B}"
    first = _harness(workshop, "approve", "--key", key)
    assert (first.code, first.json["request"]["status"]) == (1, "pending")
    token = first.json["token"]
    assert token not in store.read_text()
    wrong = _harness(workshop, "approve", "--key", key, "--token", "wrong")
    assert (wrong.code, wrong.json["error"]["code"]) == (2, "approval.token")
    shown = workshop.run("governed-harness", "approve", "--store", store, "--key", key)
    assert shown.code == 1
    call = shown.stdout.splitlines()[-1].split()
    assert call[:3] == ["tipstaff", "governed-harness", "approve"]
    assert workshop.run(*call[1:]).code == 0
    assert ApprovalFile(store).counts()["approved"] == 1


@pytest.mark.req("AP-02", "AP-01")
def test_damaged_store_exits_3_and_names_its_line(workshop: Workshop, store: Path) -> None:
    whole = store.read_bytes()
    for data, line in (
        (whole[:-1], "line 4"),
        (whole.replace(b'"rejected"', b'"denied"'), "line 4"),
        (b"\n" + whole, "line 1"),
    ):
        store.write_bytes(data)
        for verb in (("approvals",), ("approve", "--key", A), ("reject", "--key", A)):
            answer = _harness(workshop, *verb)
            assert answer.code == 3
            error = answer.json["error"]
            assert (error["code"], error["field"]) == ("store.corrupt", line)
            assert line in answer.stderr
        assert store.read_bytes() == data


def test_decision_without_an_engine_exits_3_and_nothing_is_written(
    workshop: Workshop, store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = store.read_bytes()
    monkeypatch.setenv("TIPSTAFF_OPA_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("TIPSTAFF_OPA_TOKEN", "t")
    answer = _harness(workshop, "approve", "--key", A)
    assert (answer.code, answer.json["error"]["code"]) == (3, "engine.unavailable")
    assert store.read_bytes() == before


@pytest.mark.promise("A6", "row 82")
def test_hostile_text_of_a_request_is_shown_escaped(workshop: Workshop) -> None:
    hostile = "fine\x1b[2J\r\n\u202eAPPROVED\u200b\x07" + "x" * 1000
    file = ApprovalFile(workshop.root / "approvals.jsonl")
    file.request(asked(A, what=hostile, requested_by=AGENT))
    shown = workshop.run("governed-harness", "approvals", "--store", file.path)
    assert shown.code == 0
    assert not set("\x1b\r\u202e\u200b\x07") & set(shown.stdout)
    assert A in shown.stdout


@pytest.mark.req("HC-09")
def test_decision_is_taken_in_a_folder_that_holds_nothing_else(tmp_path: Path) -> None:
    file = ApprovalFile(tmp_path / "approvals.jsonl")
    file.request(asked(A, requested_by=AGENT))
    answer = run(
        *("governed-harness", "approve", "--store", "approvals.jsonl", "--key", A), cwd=tmp_path
    )
    assert answer.code == 0, answer.stderr
    assert answer.stdout == f"request {A} is approved\n"
    assert sorted(each.name for each in tmp_path.iterdir()) == [".tipstaff", "approvals.jsonl"]
