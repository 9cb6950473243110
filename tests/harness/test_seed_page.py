"""The page that the governed harness is made after, said in our words: each sentence is a row, and each is run."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import pytest

from support.governed import changed
from support.harness_page import EXAMPLE, STAGES, Page
from tipstaff.cli.program import program
from tipstaff.surfaces.tools import TOOLS

BEFORE, AFTER = {"parse": 0.8, "plan": 0.7}, {"parse": 0.82, "plan": 0.72}
WORSE = {"parse": 0.3, "plan": 0.7}


def statuses(receipt: dict[str, Any]) -> list[str]:
    """How each stage came out."""
    return [stage["status"] for stage in receipt["stages"]]


def stages_run_in_their_order(page: Page) -> None:
    receipt = page.receipt_of("defer", {**changed(), "approval_store": "approvals.jsonl"})
    assert statuses(receipt) == ["passed", "not_required", "pending", *["skipped"] * 3]


def it_says_whether_and_what_passed_and_changes_nothing(page: Page) -> None:
    (page.root / "harness").mkdir()
    (page.root / "harness/f.py").write_text("old")
    receipt = page.receipt("promote")
    assert statuses(receipt)[0::4] == ["passed", "passed"]
    assert (page.root / "harness/f.py").read_text() == "old"


def init_demo_plan_and_run_work_offline(page: Page) -> None:
    assert page.do("init", "--out", "governed.json", "--demo").code == 0
    written = {file.name for file in page.root.glob("governed*.json")}
    assert written == {"governed.json", "governed-before.json", "governed-after.json"}
    assert page.do("plan", "--spec", "governed.json").code == 0
    answer = page.do("run", "--spec", "governed.json", "--json", "--out", "receipt.json")
    assert (answer.code, answer.json["promoted"]) == (0, True)
    assert json.loads((page.root / "receipt.json").read_bytes()) == answer.json


def run_exits_0_only_when_promoted(page: Page) -> None:
    page.receipt("promote")
    page.receipt("reject", contaminated=True, modification__modification_id="m2")
    page.receipt("rollback", after=WORSE, modification__modification_id="m3")
    page.receipt("defer", approval_store="approvals.jsonl", modification__modification_id="m4")


def the_example_promotes_after_its_approval(page: Page) -> None:
    page.put("before.json", BEFORE)
    page.put("after.json", AFTER)
    first = page.receipt_of("defer", EXAMPLE)
    key = first["approval"]["key"]
    assert key.startswith("optional-prefix:")
    assert page.decide("approve", key).code == 0
    receipt = page.receipt_of("promote", EXAMPLE)
    assert statuses(receipt) == [*["passed"] * 5, "not_required"]
    assert [step["action"] for step in receipt["rollback_plan"]] == ["restore"]


def gate_is_inline_or_a_reference(page: Page) -> None:
    gate = {
        "granted_capabilities": [],
        "max_risk": 0.3,
        "canary_risk": 0.1,
        "tolerance": 0.0,
        "denied_imports": ["json"],
        "denied_calls": ["print"],
    }
    receipt = page.receipt("promote", gate=gate)
    assert receipt["gate_effective"]["max_risk"] == "0.3"
    for source, code in {"import json\n": "gate.import", "print(1)\n": "gate.call"}.items():
        found = page.receipt(
            "reject", gate=gate, modification__modification_id="m2", modification__source=source
        )
        assert found["codes"] == [code]
    named = page.receipt("reject", gate="mypkg.wiring:gate")
    assert named["gate_effective"]["max_risk"] == "0.01"


def prover_is_a_builder_or_an_instance_and_optional(page: Page) -> None:
    assert statuses(page.receipt("promote"))[1] == "not_required"
    for name in ("prover", "instance"):
        receipt = page.receipt("promote", prover=f"mypkg.wiring:{name}")
        assert statuses(receipt)[1] == "passed"


def pending_defers_rejected_rejects_approved_goes_on(page: Page) -> None:
    key = page.pending()
    assert page.pending() == key
    assert page.decide("approve", key).code == 0
    page.receipt("promote", approval_store="approvals.jsonl")
    other = {"approval_store": "approvals.jsonl", "modification__modification_id": "m2"}
    rejected = page.receipt("defer", **other)["approval"]["key"]
    assert page.decide("reject", rejected).code == 0
    page.receipt("reject", **other)


def rules_are_an_object_or_a_file(page: Page) -> None:
    for rules in ({"min_effect": 0.03}, page.put("rules.json", {"min_effect": 0.03})):
        assert page.receipt("reject", rules=rules)["codes"] == ["promotion.effect"]


def what_was_passed_cannot_be_ignored_by_rules(page: Page) -> None:
    rules = {"require_proof": False, "require_approval": False}
    proved = page.receipt("promote", rules=rules, prover="mypkg.wiring:prover")
    assert proved["rules_effective"]["require_proof"] is True
    stored = page.receipt("defer", rules=rules, approval_store="approvals.jsonl")
    assert stored["rules_effective"]["require_approval"] is True


def scores_are_objects_or_files(page: Page) -> None:
    inline = page.receipt("promote")
    before, after = page.put("before.json", BEFORE), page.put("after.json", AFTER)
    named = page.receipt("promote", before=before, after=after)
    assert named["effect"] == inline["effect"]


def rollback_is_two_mappings_or_files_and_a_plan(page: Page) -> None:
    new, old = page.put("new.json", {"harness/f.py": "new"}), {"harness/f.py": "old"}
    receipt = page.receipt("promote", rollback_current=new, rollback_previous=old)
    assert [step["action"] for step in receipt["rollback_plan"]] == ["restore"]
    assert not (page.root / "harness").exists()


def denied_capability_or_syntax_rejects_before_proof_and_approval(page: Page) -> None:
    given = {"prover": "mypkg.wiring:refutes", "approval_store": "approvals.jsonl"}
    for change in (
        {"modification__requested_capabilities": ["net"]},
        {"modification__source": "def f(x:\n"},
    ):
        receipt = page.receipt("reject", **given, **change)
        assert statuses(receipt) == ["failed", *["skipped"] * 5]
    assert not page.lines()


def failed_proof_rejects_and_reaches_no_promotion(page: Page) -> None:
    receipt = page.receipt("reject", prover="mypkg.wiring:refutes")
    assert statuses(receipt) == ["passed", "failed", *["skipped"] * 4]


def pending_or_rejected_reaches_no_promotion(page: Page) -> None:
    key = page.pending()
    page.decide("reject", key)
    receipt = page.receipt("reject", approval_store="approvals.jsonl")
    assert statuses(receipt)[2:] == ["failed", *["skipped"] * 3]


def rollback_wins_over_a_failed_evaluation(page: Page) -> None:
    receipt = page.receipt("rollback", after=WORSE)
    assert {"canary.regression:parse", "promotion.effect"} <= set(receipt["codes"])


def optional_trials_count_where_asked_for_and_a_reject_always(page: Page) -> None:
    for name in ("conformal", "sequential"):
        page.receipt("promote", evidence={name: "undecided"})
        page.receipt("defer", evidence={name: "undecided"}, rules={f"require_{name}": True})
        page.receipt("reject", evidence={name: "reject"})


def queue_is_listed_and_counted_and_may_be_missing(page: Page) -> None:
    empty = {"pending": 0, "approved": 0, "rejected": 0}
    listed = page.do("approvals", "--store", "approvals.jsonl", "--json")
    assert (listed.code, listed.json) == (0, {"requests": [], "counts": empty})
    assert not page.lines()
    page.pending()
    for status, number in {"pending": 1, "approved": 0, "rejected": 0, "all": 1}.items():
        arguments = ("--store", "approvals.jsonl", "--status", status, "--json")
        answer = page.do("approvals", *arguments).json
        assert (len(answer["requests"]), answer["counts"]["pending"]) == (number, 1)


def decision_is_one_event_that_the_next_run_reads(page: Page) -> None:
    key = page.pending()
    before = page.lines()
    assert page.decide("approve", key, "--note", "looks right").code == 0
    after = page.lines()
    assert (after[:-1], len(after)) == (before, len(before) + 1)
    page.receipt("promote", approval_store="approvals.jsonl")


def unknown_or_decided_key_exits_2_and_flips_nothing(page: Page) -> None:
    key = page.pending()
    page.decide("reject", key)
    lines = page.lines()
    for wrong in (key, key[:-1], "0" * 64):
        for verb in ("approve", "reject"):
            assert page.decide(verb, wrong).code == 2
    assert page.lines() == lines
    page.receipt("reject", approval_store="approvals.jsonl")


def deciding_and_listing_are_of_the_command_line_alone(page: Page) -> None:
    assert {tool.name for tool in TOOLS} == {"governed_harness", "propose_action"}
    group = program.get_command(click.Context(program), "governed-harness")
    assert isinstance(group, click.Group)
    verbs = set(group.list_commands(click.Context(group)))
    assert verbs == {"init", "plan", "run", "approvals", "approve", "reject"}


def tool_takes_the_same_object_and_a_dry_run(page: Page) -> None:
    answer = page.call(spec=changed(), dry_run=True)
    assert (answer["ok"], answer["promoted"]) == (True, False)
    assert [stage["name"] for stage in answer["stages"]] == STAGES


def tool_takes_no_reference_that_is_not_listed(page: Page) -> None:
    answer = page.call(spec=changed(prover="mypkg.wiring:prover"))
    assert answer["ok"] is False


def tool_writes_nowhere_that_is_not_listed(page: Page) -> None:
    answer = page.call(spec=changed(), out="receipt.json")
    assert answer["ok"] is False
    assert not (page.root / "receipt.json").exists()


def ordinary_refusal_of_the_tool_is_ok_and_not_promoted(page: Page) -> None:
    for spec in (changed(contaminated=True), changed()):
        answer = page.call(spec=spec)
        assert (answer["ok"], answer["promoted"]) == (True, False), answer


SENTENCES: tuple[Callable[[Page], None], ...] = (
    stages_run_in_their_order,
    it_says_whether_and_what_passed_and_changes_nothing,
    init_demo_plan_and_run_work_offline,
    run_exits_0_only_when_promoted,
    the_example_promotes_after_its_approval,
    gate_is_inline_or_a_reference,
    prover_is_a_builder_or_an_instance_and_optional,
    pending_defers_rejected_rejects_approved_goes_on,
    rules_are_an_object_or_a_file,
    what_was_passed_cannot_be_ignored_by_rules,
    scores_are_objects_or_files,
    rollback_is_two_mappings_or_files_and_a_plan,
    denied_capability_or_syntax_rejects_before_proof_and_approval,
    failed_proof_rejects_and_reaches_no_promotion,
    pending_or_rejected_reaches_no_promotion,
    rollback_wins_over_a_failed_evaluation,
    optional_trials_count_where_asked_for_and_a_reject_always,
    queue_is_listed_and_counted_and_may_be_missing,
    decision_is_one_event_that_the_next_run_reads,
    unknown_or_decided_key_exits_2_and_flips_nothing,
    deciding_and_listing_are_of_the_command_line_alone,
    tool_takes_the_same_object_and_a_dry_run,
    tool_takes_no_reference_that_is_not_listed,
    tool_writes_nowhere_that_is_not_listed,
    ordinary_refusal_of_the_tool_is_ok_and_not_promoted,
)


@pytest.mark.req("HC-01", "HC-02", "HC-03", "HC-04", "HC-05", "HC-08", "HC-09", "HC-10")
@pytest.mark.req("HS-05", "HS-07", "HS-08", "HS-10", "HS-11", "HS-12", "HS-13", "HS-16")
@pytest.mark.req("HP-01", "HP-02", "HP-05", "HP-06", "HP-07", "HP-09", "HP-12", "HP-14")
@pytest.mark.req("HR-01", "HR-03", "AP-04")
@pytest.mark.parametrize("sentence", SENTENCES, ids=lambda one: one.__name__)
def test_page_is_true(folder: Path, sentence: Callable[[Page], None]) -> None:
    sentence(Page(folder))
