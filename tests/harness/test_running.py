"""The pipeline at work: the demo promotes, each stage stops it for its own reasons, and nothing is applied."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from support.governed import PROVERS, Bench
from support.schemas import demand
from tipstaff.cli.governed_harness import VERBS


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def statuses(receipt: Mapping[str, Any]) -> dict[str, str]:
    """The status of each stage."""
    return {stage["name"]: stage["status"] for stage in receipt["stages"]}


@pytest.mark.req("HC-01")
def test_harness_has_its_six_verbs() -> None:
    assert set(VERBS) == {"init", "plan", "run", "approvals", "approve", "reject"}


@pytest.mark.req("HC-02", "HC-05", "HC-04", "HP-14")
def test_demo_promotes_and_changes_nothing_but_its_receipt(bench: Bench) -> None:
    assert bench.do("init", "--out", "governed.json", "--demo").code == 0
    before = bench.files()
    assert set(before) == {"governed.json", "governed-before.json", "governed-after.json"}
    answer = bench.do("run", "--spec", "governed.json", "--json", "--out", "receipt.json")
    assert answer.code == 0, answer.stderr
    assert answer.json["promoted"] is True
    after = dict(bench.files())
    assert json.loads(after.pop("receipt.json")) == answer.json
    assert after == before


@pytest.mark.req("HC-02")
def test_files_that_are_there_are_not_replaced(bench: Bench) -> None:
    bench.do("init", "--out", "governed.json", "--demo")
    bench.spec.write_text("mine")
    before = bench.files()
    again = bench.do("init", "--out", "governed.json", "--demo")
    assert again.code == 2
    assert "governed.json" in again.stderr
    assert bench.files() == before
    assert bench.do("init", "--out", "governed.json", "--demo", "--force").code == 0
    assert bench.files() != before


@pytest.mark.req("HC-02")
def test_skeleton_is_well_formed_and_does_not_promote(bench: Bench) -> None:
    bench.do("init", "--out", "governed.json")
    demand("governed_spec", json.loads(bench.spec.read_bytes()))
    assert bench.do("plan", "--spec", "governed.json").code == 0
    assert bench.do("run", "--spec", "governed.json").code == 1


@pytest.mark.req("HC-03")
def test_plan_runs_nothing_and_writes_nothing(bench: Bench) -> None:
    marker = bench.root / "marker"
    (bench.root / "wiring.py").write_text(f"open({str(marker)!r}, 'w')\n{PROVERS}")
    bench.write(prover="wiring:proves", approval_store="approvals.jsonl")
    before = bench.files()
    answer = bench.do("plan", "--spec", "governed.json", "--json")
    assert answer.code == 0, answer.stderr
    assert bench.files() == before
    assert statuses(answer.json)["gate"] == "passed"
    assert statuses(answer.json)["proof"] == "pending"
    assert answer.json["promoted"] is False


@pytest.mark.req("HR-01", "HR-02", "HR-03")
def test_receipt_says_what_was_passed(bench: Bench) -> None:
    receipt = bench.receipt(0)
    assert receipt["outcome"] == "promote"
    assert receipt["effect"] == {
        "mean": "0.02",
        "n": 2,
        "per_task": {"parse": "0.02", "plan": "0.02"},
    }
    assert [step["action"] for step in receipt["rollback_plan"]] == ["restore"]
    assert receipt["gate_effective"]["max_risk"] == "0.5"
    assert receipt["policy"]["revision"]
    assert "def f" not in json.dumps(receipt)


@pytest.mark.req("HR-02")
def test_same_specification_gets_the_same_receipt_apart_from_time_and_id(bench: Bench) -> None:
    one, two = (bench.receipt(0) for _ in range(2))
    for receipt in (one, two):
        del receipt["created_at"], receipt["decision_id"]
    assert one == two


@pytest.mark.req("HP-04", "HP-02")
def test_source_that_calls_what_is_denied_is_rejected(bench: Bench) -> None:
    source = 'getattr(__builtins__, "ev" + "al")("1")\n'
    receipt = bench.receipt(1, modification__source=source)
    assert receipt["outcome"] == "reject"
    assert receipt["codes"] == ["gate.call"]
    assert set(list(statuses(receipt).values())[1:]) == {"skipped"}


@pytest.mark.req("HP-02", "HS-03")
def test_source_that_does_not_parse_is_rejected(bench: Bench) -> None:
    assert bench.receipt(1, modification__source="def f(x:\n")["codes"] == ["gate.syntax"]


@pytest.mark.req("HP-08")
def test_task_that_got_worse_is_rolled_back(bench: Bench) -> None:
    receipt = bench.receipt(1, after={"parse": 0.7, "plan": 0.9})
    assert receipt["outcome"] == "rollback"
    assert receipt["codes"] == ["canary.regression:parse"]


@pytest.mark.req("HP-05", "HS-10")
@pytest.mark.parametrize("prover", ["proves", "builds"])
def test_proof_lets_it_go_on(bench: Bench, prover: str) -> None:
    (bench.root / "wiring.py").write_text(PROVERS)
    receipt = bench.receipt(0, prover=f"wiring:{prover}")
    assert statuses(receipt)["proof"] == "passed"
    assert receipt["proof"]["isolated"] is True
    assert receipt["rules_effective"]["require_proof"] is True


@pytest.mark.req("HP-05")
@pytest.mark.parametrize(
    ("prover", "code", "status"),
    [
        ("refutes", "proof.failed", "failed"),
        ("wonders", "proof.error", "failed"),
        ("breaks", "proof.error", "error"),
        ("forks", "proof.error", "error"),
        ("starts", "proof.error", "error"),
        ("leaves", "proof.error", "error"),
        ("os._exit", "proof.error", "error"),
        ("prints", "proof.error", "error"),
        ("ends", "proof.error", "error"),
        ("answers_first", "proof.error", "error"),
        ("says_more", "proof.error", "error"),
        ("says_nothing", "proof.error", "error"),
        ("nothing", "proof.error", "error"),
        ("absent", "proof.error", "error"),
    ],
)
def test_anything_else_than_a_proof_is_none(
    bench: Bench, prover: str, code: str, status: str
) -> None:
    (bench.root / "wiring.py").write_text(PROVERS)
    receipt = bench.receipt(1, prover=f"wiring:{prover}", approval_store="approvals.jsonl")
    assert receipt["codes"] == [code]
    assert (statuses(receipt)["proof"], statuses(receipt)["approval"]) == (status, "skipped")
    assert not (bench.root / "approvals.jsonl").exists()


@pytest.mark.req("HP-05")
def test_prover_that_hangs_is_ended_and_is_no_proof(bench: Bench) -> None:
    (bench.root / "wiring.py").write_text(PROVERS)
    (bench.root / "tipstaff.yaml").write_text("schema_version: 1\nsandbox: {limits: {wall_s: 2}}\n")
    receipt = bench.receipt(1, prover="wiring:hangs")
    assert (receipt["codes"], statuses(receipt)["proof"]) == (["proof.error"], "timeout")


@pytest.mark.req("HC-09", "HP-06", "HP-15", "HS-11", "HS-12")
def test_person_is_asked_once_and_the_approval_is_of_exactly_this(bench: Bench) -> None:
    store = bench.root / "approvals.jsonl"
    given = {"approval_store": "approvals.jsonl", "approval_key": "p"}
    first = bench.receipt(1, **given)
    assert (first["outcome"], first["approval"]["status"]) == ("defer", "pending")
    key = first["approval"]["key"]
    assert key.startswith("p:")
    assert len(key) == 66
    lines = store.read_bytes()
    assert bench.receipt(1, **given)["approval"]["key"] == key
    assert store.read_bytes() == lines
    assert bench.do("approve", "--store", "approvals.jsonl", "--key", key).code == 0
    assert store.read_bytes().startswith(lines)
    edited = bench.receipt(1, **given, modification__source="def f(x):\n    return x + 2\n")
    assert (edited["outcome"], edited["approval"]["key"] != key) == ("defer", True)
    approved = bench.receipt(0, **given)
    assert (approved["outcome"], approved["approval"]["status"]) == ("promote", "approved")
    decided = store.read_bytes()
    assert bench.receipt(0, **given)["approval"]["status"] == "approved"
    assert store.read_bytes() == decided, "a run applies nothing, so that it uses no approval up"


@pytest.mark.req("HP-15")
def test_approval_is_of_the_prover_that_was_asked(bench: Bench) -> None:
    (bench.root / "wiring.py").write_text(PROVERS)
    given = {"prover": "wiring:proves", "approval_store": "a.jsonl"}
    key = bench.receipt(1, **given)["approval"]["key"]
    assert bench.do("approve", "--store", "a.jsonl", "--key", key).code == 0
    (bench.root / "wiring.py").write_text(PROVERS + "\n# milder\n")
    assert bench.receipt(1, **given)["approval"]["key"] != key
    (bench.root / "wiring.py").write_text(PROVERS)
    assert bench.receipt(0, **given)["outcome"] == "promote"


@pytest.mark.req("HC-04")
@pytest.mark.parametrize("out", [".", "tipstaff.yaml/x", "/proc/receipt.json"])
def test_receipt_that_could_not_be_written_is_noticed_before_anything_is_decided(
    bench: Bench, out: str
) -> None:
    (bench.root / "tipstaff.yaml").write_text("schema_version: 1\n")
    bench.write(approval_store="a.jsonl")
    answer = bench.do("run", "--spec", "governed.json", "--out", out, "--json")
    assert (answer.code, answer.json["error"]["code"]) == (2, "file.unwritable")
    assert not (bench.root / "a.jsonl").exists()


@pytest.mark.req("PA-01")
def test_nothing_is_promoted_while_work_is_paused(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TIPSTAFF_AUTO_EXECUTE_DISABLED", "1")
    receipt = bench.receipt(1)
    assert (receipt["outcome"], receipt["codes"]) == ("defer", ["pause.global"])


@pytest.mark.req("HP-06", "HC-10")
def test_rejection_stands(bench: Bench) -> None:
    key = bench.receipt(1, approval_store="a.jsonl")["approval"]["key"]
    assert bench.do("reject", "--store", "a.jsonl", "--key", key).code == 0
    receipt = bench.receipt(1, approval_store="a.jsonl")
    assert (receipt["outcome"], receipt["codes"]) == ("reject", ["approval.rejected"])
    assert bench.do("approve", "--store", "a.jsonl", "--key", key).code == 2


@pytest.mark.req("HS-02")
def test_id_that_was_promoted_stands_for_one_source(bench: Bench) -> None:
    bench.receipt(0)
    bench.write(modification__source="def f(x):\n    return x + 2\n")
    answer = bench.do("run", "--spec", "governed.json", "--json")
    assert (answer.code, answer.json["error"]["code"]) == (2, "modification.id_reused")


@pytest.mark.req("HS-18")
def test_team_clamps_what_a_specification_asks_for(bench: Bench) -> None:
    (bench.root / "tipstaff.yaml").write_text("schema_version: 1\nharness: {max_risk: 0.3}\n")
    receipt = bench.receipt(1, gate={"max_risk": 0.9}, modification__risk=0.4)
    assert receipt["codes"] == ["gate.risk"]
    assert receipt["clamped"] == {"max_risk": "0.3 (clamped from 0.9)"}


@pytest.mark.parametrize(
    ("settings", "codes"),
    [
        ({"max_risk": 0}, ["gate.risk"]),
        ({"canary_risk": 0}, ["evidence.canary_missing"]),
        ({"allowed_imports": []}, ["gate.import"]),
        ({"denied_imports": [], "denied_calls": [], "granted_capabilities": []}, []),
        ({"tolerance": 0, "min_effect": 0, "allowed_suffixes": []}, []),
        ({}, []),
    ],
)
def test_zero_and_empty_settings_of_the_team_mean_what_they_say(
    bench: Bench, settings: dict[str, Any], codes: list[str]
) -> None:
    team = {"schema_version": 1, "harness": settings}
    (bench.root / "tipstaff.yaml").write_text(json.dumps(team))
    receipt = bench.receipt(1 if codes else 0, modification__source="import math\n")
    assert receipt["codes"] == (codes or ["modification.promoted"])


@pytest.mark.req("HS-08")
def test_gate_that_is_named_is_asked_for_its_settings_in_isolation(bench: Bench) -> None:
    (bench.root / "wiring.py").write_text("def gate():\n    return {'max_risk': 0.01}\n")
    receipt = bench.receipt(1, gate="wiring:gate")
    assert (receipt["codes"], receipt["gate_effective"]["max_risk"]) == (["gate.risk"], "0.01")
    bench.write(gate="wiring:nothing")
    answer = bench.do("run", "--spec", "governed.json", "--json")
    assert (answer.code, answer.json["error"]["field"]) == (2, "gate")


@pytest.mark.req("HR-03")
def test_rollback_is_rehearsed_where_a_rule_asks(bench: Bench) -> None:
    files = {
        "current": {"a/b.py": "new", "c.py": "x", "d.py": {"content": "s", "mode": "0755"}},
        "previous": {"c.py": "x", "d.py": "s", "e/f.py": "back\r\n"},
    }
    receipt = bench.receipt(
        0,
        rules={"require_rehearsal": True},
        rollback_current=files["current"],
        rollback_previous=files["previous"],
    )
    assert receipt["rehearsal"]["restored"] is True
    plan = {step["path"]: step["action"] for step in receipt["rollback_plan"]}
    assert plan == {"a/b.py": "remove", "c.py": "unchanged", "d.py": "restore", "e/f.py": "restore"}


@pytest.mark.req("HC-07")
def test_without_an_engine_it_is_deferred_and_never_promoted(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TIPSTAFF_OPA_URL", "https://127.0.0.1:1")
    receipt = bench.receipt(3)
    assert (receipt["promoted"], receipt["outcome"]) == (False, "defer")
    assert set(statuses(receipt).values()) == {"skipped"}
