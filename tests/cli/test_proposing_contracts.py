"""`tipstaff contracts propose`: a real server that drifted, and the change that takes it up."""

from __future__ import annotations

from typing import Any

import pytest

from support.pinned import FORECAST, STATIONS, Pinned
from support.remembered import remember
from support.repair_scene import (
    AGENT,
    PIN,
    SKILL,
    rename_days,
)
from support.repositories import commit, git
from support.served import Served
from support.workshop import Workshop


@pytest.fixture
def served(workshop: Workshop, monkeypatch: pytest.MonkeyPatch) -> Served:
    """The server and its project, nothing pinned yet."""
    remember(monkeypatch)
    return Served(workshop)


@pytest.mark.req("C-17", "C-18", "C-20", "T-02")
def test_server_that_drifted_is_proposed_once_and_first_contract_too(served: Served) -> None:
    run = served.workshop.run
    first = run("contracts", "propose", "weather", "--json")
    assert first.code == 1, first.stderr
    assert first.json["status"] == "proposed"
    assert "contract.unbaselined" in first.json["verdict"]["codes"]
    assert not (served.root / PIN).exists()
    git(served.root, "merge", "-q", "--ff-only", first.json["branch"])

    same = run("contracts", "propose", "weather")
    assert (same.code, same.stdout) == (0, "weather: nothing changed, so nothing is proposed\n")

    served.serve(rename_days)
    commit(served.root, "a new version of the server")
    before = served.workshop.own()
    done = run("contracts", "propose", "weather", "--json")
    assert done.code == 1, done.stderr
    assert served.workshop.own() == before
    told = done.json
    assert (told["status"], told["diff"]["change_class"]) == ("proposed", "heal_breaking")
    changed = git(served.root, "diff", "--name-only", f"main..{told['branch']}").split()
    assert changed == [AGENT, PIN, SKILL]
    assert {place["path"] for place in told["dependents"]["rewritten"]} == {AGENT, SKILL}
    assert all(place["preview"] and place["why"] for place in told["dependents"]["todo"])
    again = run("contracts", "propose", "weather", "--json")
    assert (again.code, again.json["status"], again.json["branch"]) == (
        1,
        "already_proposed",
        told["branch"],
    )
    assert len(served.workshop.branches()) == 2


def test_people_are_told_what_was_found_rewritten_and_left(served: Served) -> None:
    served.pin()
    served.serve(rename_days)
    done = served.workshop.run("contracts", "propose", "weather")
    assert done.code == 1, done.stderr
    for text in (
        "param_renamed",
        f"rewritten  {AGENT}:2  days → day_count",
        f"to do      {SKILL}:4  days: days: days renamed to day_count; is a common word",
        "branch tipstaff/heal_breaking/",
        "waiting for a person: tipstaff approvals approve",
    ):
        assert text in done.stdout


def test_server_that_is_not_observed_is_not_proposed(served: Served) -> None:
    served.pin()
    (served.root / "server/tools.json").write_text("not JSON")
    done = served.workshop.run("contracts", "propose", "weather", "--json")
    assert (done.code, done.json["error"]["code"]) == (3, "contract.unreachable")
    assert served.workshop.branches() == []
    unknown = served.workshop.run("contracts", "propose", "other", "--json")
    assert unknown.code == 2


@pytest.mark.req("C-13", "C-19")
def test_canaries_are_called_before_a_contract_is_proposed(
    workshop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    pinned = Pinned.laid(workshop, monkeypatch)
    pinned.commit()
    call = ("canary", "record", "weather", "--tool", "get_forecast", "--id", "c1", "--json")
    recorded = pinned.run(*call)
    assert recorded.code == 0, recorded.stderr
    accepted = pinned.run("accept", "weather", "--digest", recorded.json["digest"])
    assert accepted.code == 0, accepted.stderr
    commit(workshop.root, "pin a contract with a canary")

    radars = {**STATIONS, "name": "list_radars"}
    pinned.tell(tools=[FORECAST, STATIONS, radars])
    added = pinned.run("propose", "weather", "--json").json
    assert (added["diff"]["change_class"], added["diff"]["low_risk"]) == ("heal_additive", True)
    assert _canaries(workshop, added) == [{"id": "c1", "outcome": "same"}]

    pinned.tell(answers={"get_forecast": {"sky": "grey"}})
    changed = pinned.run("propose", "weather", "--json").json
    assert changed["diff"]["change_class"] == "heal_warning"
    assert "behaviour_changed" in {found["kind"] for found in changed["diff"]["findings"]}
    assert _canaries(workshop, changed) == [{"id": "c1", "outcome": "changed"}]

    first = ("--candidate", added["diff"]["new_digest"])
    again = pinned.run("propose", "weather", *first, "--json")
    assert (again.code, again.json["status"]) == (1, "already_proposed")
    pinned.tell(tools=[FORECAST, radars])
    _, found = pinned.check()
    unproved = pinned.run("propose", "weather", "--candidate", found["new_digest"], "--json")
    assert (unproved.code, unproved.json["verdict"]["effect"]) == (1, "escalate")
    assert unproved.json["branch"] is None


def _canaries(workshop: Workshop, told: dict[str, Any]) -> Any:
    wanted = told["verdict"]["decision_id"]
    details = [one["detail"] for one in workshop.records() if one.get("decision_id") == wanted]
    detail = next(one for one in details if "evidence" in one)
    return detail["evidence"]["drift"]["contracts"][0]["canaries"]
