"""A proposal that was cut off between two of its steps: proposed anew it is whole, and nothing hangs half done."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.workshop import Workshop
from tipstaff.enforce.enforcer import Enforcer
from tipstaff.ledger.changes import Changes

SKILL = {"skills/new/SKILL.md": "# New\n"}


class Killed(BaseException):
    """Stands for the end of the process: nothing of ours catches it."""


def cut_off(where: type, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a step end the process just before it is done."""

    def end(*_: object, **__: object) -> None:
        raise Killed

    monkeypatch.setattr(where, name, end)


def propose_and_die(workshop: Workshop, monkeypatch: pytest.MonkeyPatch, step: tuple) -> None:
    with monkeypatch.context() as patch, pytest.raises(Killed):
        cut_off(*step, patch)
        workshop.propose_cli(workshop.diff(SKILL))


def states(workshop: Workshop) -> list[str]:
    return [change["state"] for change in workshop.run("change", "list", "--json").json["changes"]]


def drafts(workshop: Workshop) -> list[str]:
    folder = workshop.root / ".tipstaff" / "pull-requests"
    return sorted(
        line.split('"')[1]
        for file in folder.glob("*.md")
        for line in file.read_text().splitlines()
        if line.startswith("status:")
    )


@pytest.mark.parametrize(
    ("step", "left"),
    [
        ((Changes, "committed"), ["draft"]),
        ((Changes, "opened"), ["draft", "draft"]),
        ((Enforcer, "_ask"), ["closed", "draft"]),
    ],
    ids=["after the branch", "after the pull request", "before the request"],
)
def test_cut_off_proposal_is_taken_back_when_it_is_made_anew(
    workshop: Workshop, monkeypatch: pytest.MonkeyPatch, step: tuple, left: list[str]
) -> None:
    propose_and_die(workshop, monkeypatch, step)
    again = workshop.propose_cli(workshop.diff(SKILL), "--json").json
    assert again["approval"]["status"] == "pending"
    assert states(workshop) == ["failed", "awaiting-approval"]
    assert drafts(workshop) == left
    assert workshop.run("approvals", "approve", again["approval"]["key"]).code == 0
    assert 'status: "ready"' in Path(again["pull_request"]).read_text()


def test_request_that_was_asked_just_before_the_end_can_be_approved(
    workshop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    propose_and_die(workshop, monkeypatch, (Changes, "awaiting_approval"))
    [request] = workshop.run("approvals", "list", "--json").json["requests"]
    assert workshop.run("approvals", "approve", request["key"]).code == 0
    assert (states(workshop), drafts(workshop)) == (["ready"], ["ready"])


def test_request_that_was_asked_just_before_the_end_is_joined_with_its_draft(
    workshop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    propose_and_die(workshop, monkeypatch, (Changes, "awaiting_approval"))
    again = workshop.propose_cli(workshop.diff(SKILL), "--json").json
    assert (states(workshop), drafts(workshop)) == (["awaiting-approval"], ["draft"])
    [change] = workshop.run("change", "list", "--json").json["changes"]
    assert change["approval"] == again["approval"]["key"]
