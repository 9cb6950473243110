"""A person approves or rejects: judged by the policy of that moment, carried out once, and no more than that."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from support.documents import a_change, an_approval
from support.edited_policy import edit_data, put_in_place
from support.repositories import git
from support.workshop import AUTOMATIC, Workshop
from tipstaff.documents.approval import ApprovalRequest
from tipstaff.enforce.enforcer import Enforcer


def ask(workshop: Workshop) -> ApprovalRequest:
    """Propose a change that waits for a person."""
    request = workshop.propose().effects.approval
    assert request is not None
    return request


def approve(workshop: Workshop, key: str) -> tuple[int, str, list[str]]:
    """Exit code, effect and codes of `tipstaff approvals approve`."""
    answer = workshop.run("approvals", "approve", key, "--json")
    if "error" in answer.json:
        return answer.code, "error", [answer.json["error"]["code"]]
    verdict = answer.json["verdict"]
    return answer.code, verdict["effect"], verdict["codes"]


def is_draft(workshop: Workshop) -> bool:
    """Whether the one pull request is still a draft."""
    [text] = workshop.pull_requests().values()
    return 'status: "draft"' in text


@pytest.mark.req("AP-10", "T-08", "AU-05")
def test_approved_change_becomes_ready_and_its_approval_is_used_up(workshop: Workshop) -> None:
    before = workshop.own()
    request = ask(workshop)
    head = git(workshop.root, "rev-parse", workshop.branches()[0])
    assert is_draft(workshop)
    assert approve(workshop, request.key) == (0, "allow", ["approval.granted"])
    assert not is_draft(workshop)
    assert workshop.status(request.key) == "consumed"
    assert approve(workshop, request.key) == (2, "error", ["approval.consumed"])
    assert workshop.entries().count("carried-out") == 1
    assert [git(workshop.root, "rev-parse", name) for name in workshop.branches()] == [head]
    assert workshop.own() == before
    assert workshop.is_sound()


@pytest.mark.req("AP-10")
def test_used_approval_lifts_nothing_when_it_is_shown_again(workshop: Workshop) -> None:
    request = ask(workshop)
    assert approve(workshop, request.key)[0] == 0
    with workshop.engine() as engine:
        digest = engine.question(a_change()).judged_sha256
        used = an_approval(request, engine.actor, digest=digest, status="consumed")
        verdict = engine.decide(a_change(), approval=used)
    assert verdict.effect == "require_approval"
    assert "approval.consumed" in verdict.codes


def forbid_path(workshop: Workshop) -> None:
    workshop.configure(paths={"read_only": ["skills/**"]})


def turn_off(workshop: Workshop) -> None:
    workshop.configure(autonomy={"heal_additive": "off"})


def forbid_in_overlay(workshop: Workshop) -> None:
    rule = 'package org.stop\n\ndeny contains "stop" if input.kind == "change"\n'
    workshop.sign({"org/stop/stop.rego": rule})


def escalate_in_overlay(workshop: Workshop) -> None:
    rule = 'package org.stop\n\nescalate contains "stop" if input.kind == "change"\n'
    workshop.sign({"org/stop/stop.rego": rule})


def pause_hard(workshop: Workshop) -> None:
    assert workshop.run("pause", "--reason", "fire", "--hard").code == 0


STRICTER: list[tuple[Callable[[Workshop], None], str, str]] = [
    (forbid_path, "deny", "path.read_only"),
    (turn_off, "deny", "tier.off"),
    (forbid_in_overlay, "deny", "org.stop"),
    (escalate_in_overlay, "escalate", "org.stop"),
    (pause_hard, "require_approval", "pause.global"),
]


@pytest.mark.promise("A1", "BR-10")
@pytest.mark.req("AP-10", "AP-09", "PA-04")
@pytest.mark.parametrize(("tighten", "effect", "code"), STRICTER)
def test_approval_meets_the_policy_of_that_moment(
    workshop: Workshop, tighten: Callable[[Workshop], None], effect: str, code: str
) -> None:
    request = ask(workshop)
    tighten(workshop)
    exit_code, found, codes = approve(workshop, request.key)
    assert (exit_code, found) == (1, effect)
    assert code in codes
    assert is_draft(workshop)
    assert workshop.status(request.key) == "pending"
    assert "carried-out" not in workshop.entries()


@pytest.mark.promise("A1")
@pytest.mark.req("AP-10")
def test_edited_policy_makes_a_request_stale(
    workshop: Workshop, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    request = ask(workshop)
    assert workshop.run("approvals", "list", "--stale", "--json").json["requests"] == []
    edited = edit_data(tmp_path / "policy", {"gates": lambda data: data["forbid"].append("x")})
    put_in_place(edited, monkeypatch)
    [stale] = workshop.run("approvals", "list", "--stale", "--json").json["requests"]
    assert stale["key"] == request.key
    code, effect, codes = approve(workshop, request.key)
    assert (code, effect) == (1, "require_approval")
    assert "approval.stale" in codes
    assert is_draft(workshop)


@pytest.mark.req("AP-10", "PA-04")
def test_ordinary_pause_does_not_stop_what_a_person_approves(workshop: Workshop) -> None:
    request = ask(workshop)
    workshop.run("pause", "--reason", "lunch")
    assert approve(workshop, request.key)[:2] == (0, "allow")


@pytest.mark.req("AP-10")
def test_approval_that_was_cut_off_is_judged_again_before_it_is_carried_out(
    workshop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    request = ask(workshop)

    def crash(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Enforcer, "finish", crash)
        with pytest.raises(KeyboardInterrupt):
            workshop.approve(request.key)
    assert workshop.status(request.key) == "approved"
    turn_off(workshop)
    assert approve(workshop, request.key)[:2] == (1, "deny")
    assert is_draft(workshop)


@pytest.mark.req("AP-05")
def test_asker_does_not_approve_where_four_eyes_are_wanted(workshop: Workshop) -> None:
    workshop.configure(approvals={"four_eyes": True})
    request = ask(workshop)
    code, effect, codes = approve(workshop, request.key)
    assert (code, effect) == (1, "require_approval")
    assert "approval.four_eyes" in codes
    assert workshop.status(request.key) == "pending"
    assert is_draft(workshop)
    decided = [record for record in workshop.records() if "approval.four_eyes" in record["codes"]]
    facts = decided[-1]["detail"]["preferences"]["approval"]
    assert facts["requested_by"]["id"] == facts["decided_by"]["id"] == request.requested_by.id


@pytest.mark.req("AP-05")
def test_another_person_approves_where_four_eyes_are_wanted(
    workshop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    workshop.configure(approvals={"four_eyes": True})
    request = ask(workshop)
    monkeypatch.setattr("tipstaff.project._user_at_host", lambda: "bob@desk")
    assert approve(workshop, request.key)[:2] == (0, "allow")
    shown = workshop.run("approvals", "show", request.key, "--json").json
    assert shown["decided_by"]["id"] == "bob@desk"


@pytest.mark.req("AP-05", "PA-06")
@pytest.mark.parametrize("variable", ["CLAUDECODE", "TIPSTAFF_NESTED", "CI"])
@pytest.mark.parametrize("verb", ["approve", "reject"])
def test_agent_and_ci_decide_nothing(
    workshop: Workshop, monkeypatch: pytest.MonkeyPatch, variable: str, verb: str
) -> None:
    request = ask(workshop)
    monkeypatch.setenv(variable, "1")
    answer = workshop.run("approvals", verb, request.key, "--json")
    assert answer.code == 1
    assert answer.json["verdict"]["codes"] == ["control.human_only"]
    assert workshop.status(request.key) == "pending"
    assert is_draft(workshop)


@pytest.mark.req("AP-12")
def test_rejected_change_is_closed_in_one_step_and_stays_so(workshop: Workshop) -> None:
    request = ask(workshop)
    answer = workshop.run("approvals", "reject", request.key, "--note", "not now", "--json")
    assert (answer.code, answer.json["request"]["status"]) == (0, "rejected")
    [text] = workshop.pull_requests().values()
    assert 'status: "closed"' in text
    assert approve(workshop, request.key) == (2, "error", ["approval.decided"])
    assert workshop.run("approvals", "reject", request.key).code == 2
    assert len(workshop.branches()) == 1
    assert "carried-out" not in workshop.entries()


@pytest.mark.req("AP-12")
def test_rejection_that_was_cut_off_is_finished_by_the_next(
    workshop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    request = ask(workshop)

    def crash(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Enforcer, "withdraw", crash)
        workshop.run("approvals", "reject", request.key)
    assert (workshop.status(request.key), is_draft(workshop)) == ("rejected", True)
    assert workshop.run("approvals", "reject", request.key).code == 0
    [text] = workshop.pull_requests().values()
    assert 'status: "closed"' in text
    assert workshop.run("approvals", "reject", request.key).code == 2
    assert workshop.entries().count("rejected") == 1


@pytest.mark.req("AP-10")
def test_approval_at_a_higher_tier_still_binds_to_what_was_asked(workshop: Workshop) -> None:
    request = ask(workshop)
    workshop.configure(autonomy=AUTOMATIC)
    code, effect, codes = approve(workshop, request.key)
    assert (code, effect) == (1, "require_approval")
    assert "approval.stale" in codes
