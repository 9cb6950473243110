"""Requests for a person: what they say, how they are listed and counted, and a store that cannot be trusted."""

from __future__ import annotations

import json
import sqlite3

import pytest

from support.schemas import accepts, demand
from support.workshop import Workshop
from tipstaff.documents.approval import ApprovalRequest
from tipstaff.ledger.database import FILE


def ask(workshop: Workshop) -> ApprovalRequest:
    """Propose a change that waits for a person."""
    request = workshop.propose().effects.approval
    assert request is not None
    return request


@pytest.mark.req("AP-07")
def test_request_says_all_that_a_person_needs(workshop: Workshop) -> None:
    request = ask(workshop)
    plain = json.loads(request.model_dump_json())
    demand("approval_request", plain)
    assert plain["digest"] == workshop.records()[1]["detail"]["preferences"]["judged_sha256"]
    for part in ("what", "why", "evidence", "risk", "alternatives", "urgency", "digest"):
        assert plain[part]
        assert not accepts("approval_request", {**plain, part: None}), part
        assert not accepts(
            "approval_request", {key: value for key, value in plain.items() if key != part}
        ), part
    assert not accepts("approval_request", {**plain, "alternatives": []})
    shown = workshop.run("approvals", "show", request.key)
    for part in ("what", "why", "evidence", "risk", "alternatives", "urgency", "digest"):
        assert f"\n{part}: " in shown.stdout
    assert "+It reads standard input, too." in shown.stdout


@pytest.mark.req("AP-07")
def test_same_change_asked_twice_is_one_request(workshop: Workshop) -> None:
    first, second = ask(workshop), ask(workshop)
    assert first.key == second.key
    assert len(workshop.branches()) == 1
    assert workshop.run("approvals", "list", "--json").json["counts"]["pending"] == 1


@pytest.mark.req("AP-01")
def test_requests_are_filtered_and_counted_by_five_statuses(workshop: Workshop) -> None:
    files = [{f"skills/{name}.md": "x\n"} for name in ("a", "b", "c")]
    keys = [workshop.propose(each).effects.approval.key for each in files]
    assert workshop.run("approvals", "approve", keys[0]).code == 0
    assert workshop.run("approvals", "reject", keys[1]).code == 0
    counts = workshop.run("approvals", "list", "--json").json["counts"]
    assert counts == {"pending": 1, "approved": 0, "rejected": 1, "expired": 0, "consumed": 1}
    for status, key in (("consumed", keys[0]), ("rejected", keys[1]), ("pending", keys[2])):
        listed = workshop.run("approvals", "list", "--status", status, "--json").json["requests"]
        assert [request["key"] for request in listed] == [key]
    assert len(workshop.run("approvals", "list", "--status", "all", "--json").json["requests"]) == 3
    assert workshop.run("approvals", "list", "--status", "denied").code == 2


@pytest.mark.req("AP-01")
def test_store_with_another_status_is_corrupt_and_decides_nothing(workshop: Workshop) -> None:
    request = ask(workshop)
    with sqlite3.connect(workshop.state / FILE) as database:
        database.execute("PRAGMA ignore_check_constraints = 1")
        database.execute("UPDATE approvals SET status = 'denied'")
    database.close()
    for verb in (
        ["list"],
        ["show", request.key],
        ["approve", request.key],
        ["reject", request.key],
    ):
        answer = workshop.run("approvals", *verb, "--json")
        assert answer.code == 3, verb
        assert answer.json["error"]["code"] == "store.corrupt"
    [text] = workshop.pull_requests().values()
    assert 'status: "draft"' in text


def test_request_that_nobody_made_is_an_input_error(workshop: Workshop) -> None:
    request = ask(workshop)
    for key in ("ffffff", request.key[:5], "x", "*", "../../etc", ""):
        for verb in ("show", "approve", "reject"):
            assert workshop.run("approvals", verb, key).code == 2, (verb, key)
    assert workshop.status(request.key) == "pending"
