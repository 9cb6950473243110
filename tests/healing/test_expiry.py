"""Requests run out by their urgency, at the very moment, and running out carries nothing out."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import time_machine

from support.edited_policy import edit_data, put_in_place
from support.workshop import Workshop

NOON = datetime(2026, 3, 1, 12, 0, 0, tzinfo=UTC)
URGENCIES = {"immediate": timedelta(minutes=15), "normal": timedelta(hours=24)}
URGENCIES["low"] = timedelta(hours=72)
MOMENT = timedelta(microseconds=1)


@pytest.fixture(scope="module")
def urgent(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A policy in which classes differ in urgency."""

    def edit(data: Any) -> None:
        data["urgency"] = {
            "heal_breaking": "immediate",
            "heal_additive": "normal",
            "heal_warning": "low",
            "augment": "whenever",
        }

    return edit_data(tmp_path_factory.mktemp("policy") / "policy", {"approval": edit})


@pytest.fixture
def clock() -> Iterator[time_machine.Traveller]:
    """A clock that stands at noon until it is moved."""
    with time_machine.travel(NOON, tick=False) as traveller:
        yield traveller


CLASSES = {"immediate": "heal_breaking", "normal": "heal_additive", "low": "heal_warning"}


@pytest.mark.req("AP-08", "AP-09")
@pytest.mark.parametrize("urgency", URGENCIES)
def test_request_expires_at_the_very_moment_and_is_carried_out_by_nobody(
    workshop: Workshop,
    monkeypatch: pytest.MonkeyPatch,
    urgent: Path,
    clock: time_machine.Traveller,
    urgency: str,
) -> None:
    put_in_place(urgent, monkeypatch)
    request = workshop.propose(action_class=CLASSES[urgency]).effects.approval
    assert request is not None
    assert request.urgency == urgency
    end = NOON + URGENCIES[urgency]
    assert request.expires_at == end.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    clock.move_to(end - MOMENT)
    assert workshop.status(request.key) == "pending"
    before = workshop.entries()
    clock.move_to(end)
    assert workshop.status(request.key) == "expired"
    for verb in ("approve", "reject", "approve"):
        refused = workshop.run("approvals", verb, request.key, "--json")
        assert (refused.code, refused.json["error"]["code"]) == (2, "approval.expired")
    workshop.run("approvals", "list")
    assert workshop.entries() == [*before, "expired"]
    [text] = workshop.pull_requests().values()
    assert 'status: "draft"' in text
    assert workshop.run("approvals", "list", "--json").json["counts"]["expired"] == 1


@pytest.mark.req("AP-08")
def test_request_is_approved_at_its_last_moment(
    workshop: Workshop, clock: time_machine.Traveller
) -> None:
    request = workshop.propose().effects.approval
    assert request is not None
    clock.move_to(NOON + timedelta(hours=24) - MOMENT)
    assert workshop.run("approvals", "approve", request.key).code == 0


@pytest.mark.req("AP-08")
def test_unknown_urgency_lasts_a_day(
    workshop: Workshop,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    clock: time_machine.Traveller,
) -> None:
    def edit(data: Any) -> None:
        del data["ttl_s"]["normal"]
        data["ttl_s"]["low"] = 1

    put_in_place(edit_data(tmp_path / "policy", {"approval": edit}), monkeypatch)
    request = workshop.propose().effects.approval
    assert request is not None
    assert request.expires_at == "2026-03-02T12:00:00.000000Z"


@pytest.mark.req("AP-09", "AP-10")
def test_approval_that_was_cut_off_expires_too(
    workshop: Workshop, monkeypatch: pytest.MonkeyPatch, clock: time_machine.Traveller
) -> None:
    request = workshop.propose().effects.approval
    assert request is not None

    def crash(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("tipstaff.enforce.enforcer.Enforcer.finish", crash)
        with pytest.raises(KeyboardInterrupt):
            workshop.approve(request.key)
    clock.move_to(NOON + timedelta(hours=24))
    late = workshop.run("approvals", "approve", request.key, "--json")
    assert late.code in (1, 2)
    [text] = workshop.pull_requests().values()
    assert 'status: "draft"' in text
    assert "carried-out" not in workshop.entries()


@pytest.mark.req("AP-09")
def test_expired_change_can_be_asked_for_again(
    workshop: Workshop, clock: time_machine.Traveller
) -> None:
    first = workshop.propose().effects.approval
    clock.move_to(NOON + timedelta(hours=24))
    second = workshop.propose().effects.approval
    assert first is not None
    assert second is not None
    assert first.key != second.key
    assert workshop.run("approvals", "approve", second.key).code == 0
