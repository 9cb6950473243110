"""Where a rule asks for two confirmations: a token for ten minutes, exactly that one, and then it starts over."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest
import time_machine

from support.documents import a_change, an_approval
from support.workshop import Workshop

NOON = datetime(2026, 3, 1, 12, 0, 0, tzinfo=UTC)
TWICE = """package org.twice

require_approval contains {
	"code": "org.twice",
	"message": "two deliberate steps",
	"solution": "confirm twice",
	"confirmations": 2,
} if {
	input.kind == "change"
}
"""


@pytest.fixture
def clock() -> Iterator[time_machine.Traveller]:
    """A clock that stands at noon until it is moved."""
    with time_machine.travel(NOON, tick=False) as traveller:
        yield traveller


@pytest.fixture
def key(workshop: Workshop, clock: time_machine.Traveller) -> str:
    """A request that wants two confirmations."""
    workshop.sign({"org/twice/twice.rego": TWICE})
    request = workshop.propose().effects.approval
    assert request is not None
    assert (request.confirmations, request.confirm_within_s) == (2, 600)
    return request.key


def confirm(workshop: Workshop, key: str, token: str | None = None) -> tuple[int, str | None]:
    """Exit code, and the token or the error's code."""
    with_token = ["--token", token] if token is not None else []
    answer = workshop.run("approvals", "approve", key, *with_token, "--json")
    if "error" in answer.json:
        return answer.code, answer.json["error"]["code"]
    return answer.code, answer.json["token"]


def is_done(workshop: Workshop) -> bool:
    """Whether the change was carried out."""
    [text] = workshop.pull_requests().values()
    done = 'status: "ready"' in text
    assert done == ("carried-out" in workshop.entries())
    return done


@pytest.mark.req("AP-11")
def test_first_confirmation_carries_nothing_out_and_the_second_in_time_does(
    workshop: Workshop, key: str, clock: time_machine.Traveller
) -> None:
    code, token = confirm(workshop, key)
    assert code == 1
    assert token
    assert not is_done(workshop)
    assert workshop.status(key) == "pending"
    assert workshop.entries()[-1] == "first-confirmation"
    clock.move_to(NOON + timedelta(minutes=9, seconds=59))
    assert confirm(workshop, key, token) == (0, None)
    assert is_done(workshop)
    assert workshop.status(key) == "consumed"
    assert confirm(workshop, key, token) == (2, "approval.consumed")


@pytest.mark.req("AP-11", "AP-12")
@pytest.mark.parametrize("late", [timedelta(minutes=10), timedelta(minutes=10, seconds=1)])
def test_second_confirmation_too_late_starts_over(
    workshop: Workshop, key: str, clock: time_machine.Traveller, late: timedelta
) -> None:
    _, token = confirm(workshop, key)
    clock.move_to(NOON + late)
    assert confirm(workshop, key, token) == (2, "approval.token")
    assert not is_done(workshop)
    clock.move_to(NOON + timedelta(minutes=11))
    code, fresh = confirm(workshop, key)
    assert code == 1
    assert fresh not in (None, token)
    assert confirm(workshop, key, fresh) == (0, None)
    assert is_done(workshop)


@pytest.mark.req("AP-11")
@pytest.mark.parametrize("wrong", ["", "x", "a" * 43, "é\x1b"])
def test_wrong_token_is_refused_and_the_right_one_with_it(
    workshop: Workshop, key: str, wrong: str
) -> None:
    _, token = confirm(workshop, key)
    assert confirm(workshop, key, wrong) == (2, "approval.token")
    assert confirm(workshop, key, token) == (2, "approval.token")
    assert not is_done(workshop)


@pytest.mark.req("AP-11")
def test_token_of_an_earlier_first_confirmation_no_longer_counts(
    workshop: Workshop, key: str
) -> None:
    _, first = confirm(workshop, key)
    _, second = confirm(workshop, key)
    assert first != second
    assert confirm(workshop, key, first) == (2, "approval.token")
    assert not is_done(workshop)


@pytest.mark.req("AP-11")
def test_second_confirmation_without_a_first_is_refused(workshop: Workshop, key: str) -> None:
    assert confirm(workshop, key, "made-up") == (2, "approval.token")
    assert not is_done(workshop)


@pytest.mark.req("AP-11")
def test_token_is_kept_nowhere_in_plain(workshop: Workshop, key: str) -> None:
    _, token = confirm(workshop, key)
    assert token
    for file in workshop.state.rglob("*"):
        if file.is_file() and "sidecar" not in file.parts:
            assert token.encode() not in file.read_bytes(), file


@pytest.mark.req("AP-12")
def test_rejecting_takes_one_step_where_approving_takes_two(workshop: Workshop, key: str) -> None:
    confirm(workshop, key)
    answer = workshop.run("approvals", "reject", key, "--json")
    assert (answer.code, answer.json["request"]["status"]) == (0, "rejected")
    assert not is_done(workshop)


@pytest.mark.req("AP-11")
def test_policy_itself_counts_the_confirmations(workshop: Workshop, key: str) -> None:
    request = workshop.propose().effects.approval
    assert request is not None
    with workshop.engine() as engine:
        digest = engine.question(a_change()).judged_sha256
        once, twice = (
            engine.decide(
                a_change(),
                approval=an_approval(request, engine.actor, digest=digest, confirmations=count),
            )
            for count in (1, 2)
        )
    assert (once.effect, once.confirmations) == ("require_approval", 2)
    assert "approval.confirmations" in once.codes
    assert twice.effect == "allow"
