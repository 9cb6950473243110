"""What each tier lets a change do, from the files that set it to what is carried out."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from support.documents import a_change, a_file, counts
from support.repositories import commit, git
from support.workshop import AUTOMATIC, GOLDEN, Workshop
from tipstaff.errors import ContractError

SEED = {
    "audit": "auto",
    "augment": "propose",
    "heal_additive": "auto-if-tests-pass",
    "heal_breaking": "propose",
    "heal_warning": "propose",
}
BUILT_IN = {**SEED, "heal_additive": "propose"}
CLASSES = list(SEED)


def tiers(workshop: Workshop) -> dict[str, str]:
    """What `tipstaff tiers` prints."""
    answer = workshop.run("tiers", "--json")
    assert answer.code == 0, answer.stderr
    return {row["class"]: row["effective"] for row in answer.json["tiers"]}


@pytest.mark.req("T-01", "T-14")
@pytest.mark.parametrize("file", ["tipstaff.yaml", "tipstaff.local.yaml"])
@pytest.mark.parametrize(
    "tier",
    ["AUTO_IF_TESTS_PASS", "auto_if_tests_pass", "Auto", "propse", "no", "true", "3", "", "null"],
)
def test_any_other_spelling_of_a_tier_is_refused_by_name(
    workshop: Workshop, file: str, tier: str
) -> None:
    (workshop.root / file).write_text(f"schema_version: 1\nautonomy:\n  heal_additive: {tier}\n")
    for verb in (["tiers"], ["check"], ["decide", "-"]):
        answer = workshop.run(*verb, "--json", stdin=json.dumps(a_change()).encode())
        assert answer.code == 2
        told = answer.json["error"]
        assert told["field"] == "autonomy.heal_additive"
        assert told["file"].endswith(file)
        assert told["fix"]
    assert workshop.records() == []


@pytest.mark.req("T-01")
def test_four_tiers_are_ordered(workshop: Workshop) -> None:
    order = ["off", "propose", "auto-if-tests-pass"]
    for ceiling in order:
        for wish in order:
            workshop.configure(autonomy={"heal_additive": ceiling})
            workshop.prefer(autonomy={"heal_additive": wish})
            lower = min(ceiling, wish, key=order.index)
            assert tiers(workshop)["heal_additive"] == lower
    workshop.configure(autonomy={"audit": "auto"})
    for wish in ["off", "propose", "auto-if-tests-pass", "auto"]:
        workshop.prefer(autonomy={"audit": wish})
        assert tiers(workshop)["audit"] == wish


@pytest.mark.req("T-03")
def test_each_class_has_its_own_tier_and_no_other_class_exists(workshop: Workshop) -> None:
    workshop.configure(autonomy={"heal_warning": "off", "heal_additive": "auto-if-tests-pass"})
    assert tiers(workshop) == {
        "audit": "propose",
        "augment": "propose",
        "heal_additive": "auto-if-tests-pass",
        "heal_breaking": "propose",
        "heal_warning": "off",
    }
    verdict = workshop.decide(a_change("heal_foo"))
    assert (verdict.effect, verdict.codes) == ("deny", ["class.unknown"])
    assert workshop.propose_cli(workshop.diff(), action_class="heal_foo").code == 1
    assert workshop.branches() == []
    workshop.configure(autonomy={"heal_foo": "propose"})
    refused = workshop.run("tiers", "--json")
    assert refused.code == 2
    assert "heal_foo" in json.dumps(refused.json["error"])


@pytest.mark.req("T-04")
def test_built_in_tiers_hold_without_files_and_the_examples_with_them(workshop: Workshop) -> None:
    (workshop.root / "tipstaff.yaml").unlink()
    assert tiers(workshop) == BUILT_IN
    workshop.configure(autonomy=SEED)
    assert tiers(workshop) == SEED


@pytest.mark.req("T-05")
@pytest.mark.parametrize("action_class", ["heal_breaking", "augment", "heal_warning"])
def test_auto_for_a_class_that_writes_is_propose_and_a_finding(
    workshop: Workshop, action_class: str
) -> None:
    workshop.configure(autonomy={action_class: "auto"}, approval_gates={"require_human": []})
    verdict = workshop.decide(a_change(action_class))
    assert (verdict.effect, verdict.codes) == ("require_approval", ["tier.propose"])
    found = workshop.run("check", "--json")
    assert found.code == 1
    assert [finding["code"] for finding in found.json["findings"]] == ["tier.auto_not_readonly"]


@pytest.mark.req("T-05", "T-06")
def test_auto_for_additive_healing_still_needs_its_tests(workshop: Workshop) -> None:
    workshop.configure(autonomy={"heal_additive": "auto"})
    assert workshop.decide(a_change()).effect == "allow"
    failing = a_change(evidence__tests=counts(11, 1))
    assert workshop.decide(failing).codes == ["tests.failed"]
    assert workshop.run("check").code == 1


@pytest.mark.req("T-05")
def test_auto_reads_without_asking_and_never_writes(workshop: Workshop) -> None:
    reading = a_change("audit", resource__files=[], evidence={})
    assert workshop.decide(reading).effect == "allow"
    assert workshop.run("check").code == 0
    verdict = workshop.decide(a_change("audit"))
    assert (verdict.effect, verdict.codes) == ("deny", ["class.read_only"])


@pytest.mark.req("T-06", "T-07", "KG-08")
@pytest.mark.parametrize(
    ("changes", "codes"),
    [
        ({"evidence__tests": counts(11, 1)}, ["tests.failed"]),
        ({"evidence__tests": counts(0, 0)}, ["tests.none"]),
        ({"evidence__tests": None}, ["tests.none"]),
        ({"evidence__tests": counts(12, 0, "00" * 32)}, ["tests.stale"]),
        ({"evidence__sandbox": None}, ["sandbox.unisolated"]),
        ({"resource__files": [a_file(additions_only=False)]}, ["change.not_additive"]),
        ({"resource__files": [a_file(mode_changed=True)]}, ["change.not_additive"]),
        ({"resource__files": [a_file(touches_existing_definition=True)]}, ["change.not_additive"]),
        ({"resource__files": [a_file(), a_file("b", status="deleted")]}, ["change.not_additive"]),
    ],
)
def test_automatic_healing_wants_every_test_and_a_change_that_only_adds(
    workshop: Workshop, changes: dict[str, object], codes: list[str]
) -> None:
    workshop.configure(autonomy=AUTOMATIC)
    assert workshop.decide(a_change()).effect == "allow"
    verdict = workshop.decide(a_change(**changes))
    assert verdict.effect == "require_approval"
    assert set(codes) <= set(verdict.codes)
    assert verdict.facts["low_risk"] is False


@pytest.mark.req("T-06", "T-02", "AU-05", "KG-08")
def test_tested_addition_is_carried_out_unattended_on_a_branch_of_its_own(
    workshop: Workshop,
) -> None:
    workshop.configure(autonomy=AUTOMATIC)
    commit(workshop.root, "let additions through")
    diff, before = workshop.diff(), workshop.own()
    answer = workshop.propose_cli(diff, "--tests", GOLDEN, "--json")
    assert answer.code == 0, answer.stdout + answer.stderr
    told = answer.json
    assert told["tests"]["passed"] == 2
    assert told["verdict"]["effect"] == "allow"
    assert told["approval"] is None
    [branch] = workshop.branches()
    assert told["branch"] == branch == f"tipstaff/heal_additive/{told['tests']['diff_sha256'][:12]}"
    [(decision, text)] = workshop.pull_requests().items()
    assert decision == told["verdict"]["decision_id"]
    assert 'status: "ready"' in text
    assert f"Tipstaff-Decision: {decision}" in git(
        workshop.root, "log", "-1", "--format=%B", branch
    )
    assert git(workshop.root, "rev-parse", f"{branch}^") == git(workshop.root, "rev-parse", "HEAD")
    assert workshop.own() == before
    assert workshop.entries() == ["detected", "allow", "proposed"]


@pytest.mark.req("T-06", "KG-08")
def test_addition_that_breaks_a_golden_test_is_not_carried_out_unattended(
    workshop: Workshop,
) -> None:
    workshop.configure(autonomy=AUTOMATIC)
    breaking = {"skills/word-count/scripts/count.py": "def count(text):\n    return 7\n"}
    answer = workshop.propose_cli(workshop.diff(breaking), "--tests", GOLDEN, "--json")
    assert answer.code == 1
    verdict = answer.json["verdict"]
    assert verdict["effect"] == "require_approval"
    assert {"tests.failed", "change.not_additive"} <= set(verdict["codes"])
    [text] = workshop.pull_requests().values()
    assert 'status: "draft"' in text


@pytest.mark.req("T-08", "T-02", "AU-05")
def test_proposal_goes_through_four_audited_steps_and_waits(workshop: Workshop) -> None:
    workshop.configure(autonomy={"augment": "propose"}, approval_gates={"require_human": []})
    diff, before = workshop.diff({"skills/new/SKILL.md": "# New\n"}), workshop.own()
    outcome = workshop.propose(diff, "augment", tests=GOLDEN)
    assert outcome.golden.tests is not None
    assert (outcome.golden.tests.passed, outcome.golden.tests.failed) == (2, 0)
    assert (outcome.verdict.effect, outcome.verdict.codes) == ("require_approval", ["tier.propose"])
    assert workshop.entries() == ["detected", "require_approval", "proposed", "awaiting-approval"]
    assert {record["decision_id"] for record in workshop.records()} == {outcome.verdict.decision_id}
    assert not (workshop.root / "skills/new").exists()
    assert len(workshop.pull_requests()) == 1
    assert len(workshop.branches()) == 1
    assert workshop.own() == before


@pytest.mark.req("T-09", "KG-09")
def test_class_that_is_off_is_neither_done_nor_proposed_even_when_pinned(
    workshop: Workshop,
) -> None:
    workshop.configure(
        autonomy={"heal_breaking": "off"}, approval_gates={"require_human": ["heal_breaking"]}
    )
    answer = workshop.propose_cli(workshop.diff(), "--json", action_class="heal_breaking")
    assert answer.code == 1
    assert answer.json["verdict"]["effect"] == "deny"
    assert answer.json["verdict"]["codes"][0] == "tier.off"
    assert (workshop.branches(), workshop.pull_requests()) == ([], {})
    assert workshop.entries() == ["deny"]
    assert workshop.run("approvals", "list", "--json").json["requests"] == []


@pytest.mark.req("T-14")
@pytest.mark.parametrize("action_class", CLASSES)
def test_bad_tier_in_the_ceiling_stops_every_class(workshop: Workshop, action_class: str) -> None:
    diff = workshop.diff()
    (workshop.root / "tipstaff.yaml").write_text(
        "schema_version: 1\nautonomy:\n  audit: auto\n  heal_additive: propse\n"
    )
    answer = workshop.propose_cli(diff, "--json", action_class=action_class)
    assert answer.code == 2
    assert answer.json["error"]["field"] == "autonomy.heal_additive"
    assert (workshop.branches(), workshop.records()) == ([], [])


@pytest.mark.req("T-14")
def test_ceiling_that_turns_bad_under_a_running_engine_stops_it(
    workshop: Workshop, tmp_path: Path
) -> None:
    workshop.configure(autonomy=AUTOMATIC)
    with workshop.engine() as engine:
        assert engine.decide(a_change()).effect == "allow"
        (workshop.root / "tipstaff.yaml").write_text(
            "schema_version: 1\nautonomy: {heal_additive: Auto}\n"
        )
        with pytest.raises(ContractError):
            engine.decide(a_change())
    assert workshop.entries() == ["allow"]
