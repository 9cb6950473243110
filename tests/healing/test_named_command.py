"""The command whose results count is the team's, and an agent never chooses it."""

from __future__ import annotations

import pytest

from support.workshop import AUTOMATIC, GOLDEN, Workshop


def test_command_of_the_team_runs_when_none_is_given(workshop: Workshop) -> None:
    workshop.configure(autonomy=AUTOMATIC, tests={"command": GOLDEN})
    answer = workshop.propose_cli(workshop.diff(), "--json")
    assert answer.code == 0, answer.stderr
    assert answer.json["tests"]["command"] == GOLDEN


def test_other_command_than_the_teams_is_no_evidence(workshop: Workshop) -> None:
    workshop.configure(autonomy=AUTOMATIC, tests={"command": GOLDEN})
    other = "python -m pytest -q golden/test_word_count.py"
    answer = workshop.propose_cli(workshop.diff(), "--tests", other, "--json")
    assert answer.json["verdict"]["codes"] == ["tests.command"]


def test_command_that_an_agent_chose_is_no_evidence(
    workshop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    workshop.configure(autonomy=AUTOMATIC)
    assert workshop.propose_cli(workshop.diff(), "--tests", GOLDEN).code == 0
    monkeypatch.setenv("TIPSTAFF_NESTED", "1")
    answer = workshop.propose_cli(workshop.diff(), "--tests", GOLDEN, "--json")
    assert answer.json["verdict"]["codes"] == ["tests.command"]
    workshop.configure(tests={"command": GOLDEN})
    assert workshop.propose_cli(workshop.diff(), "--tests", GOLDEN).code == 0
