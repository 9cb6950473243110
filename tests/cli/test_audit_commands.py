"""`tipstaff audit` finds every kind of damage and names the place; `explain` tells a decision again."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from support.documents import a_change
from support.workshop import AUTOMATIC, Workshop

Lines = list[bytes]


def edit(lines: Lines) -> Lines:
    return [*lines[:2], lines[2].replace(b'"heal_additive"', b'"heal_additivf"', 1), *lines[3:]]


def delete(lines: Lines) -> Lines:
    return [*lines[:2], *lines[3:]]


def reorder(lines: Lines) -> Lines:
    return [*lines[:2], lines[3], lines[2], *lines[4:]]


def cut_last(lines: Lines) -> Lines:
    return lines[:-1]


def tear_last(lines: Lines) -> Lines:
    return [*lines[:-1], lines[-1][:-20]]


def begin_again(lines: Lines) -> Lines:
    return []


def insert(lines: Lines) -> Lines:
    return [*lines[:2], lines[1], *lines[2:]]


DAMAGE: list[tuple[Callable[[Lines], Lines], int | None]] = [
    (edit, 3),
    (delete, 3),
    (reorder, 3),
    (insert, 3),
    (cut_last, 5),
    (tear_last, 5),
    (begin_again, 1),
]


@pytest.fixture
def lived(workshop: Workshop) -> Workshop:
    """A workshop with five records."""
    with workshop.engine() as engine:
        for _ in range(5):
            engine.decide(a_change())
    answer = workshop.run("audit", "verify", "--json")
    assert (answer.code, answer.json["records"]) == (0, 5)
    return workshop


@pytest.mark.req("AU-03")
@pytest.mark.parametrize(("harm", "line"), DAMAGE)
def test_damage_is_found_at_its_line(
    lived: Workshop, harm: Callable[[Lines], Lines], line: int
) -> None:
    file = lived.state / "audit-trail.jsonl"
    file.write_bytes(b"".join(harm(file.read_bytes().splitlines(keepends=True))))
    answer = lived.run("audit", "verify", "--json")
    assert answer.code == 1
    assert answer.json["valid"] is False
    assert answer.json["problems"][0]["line"] == line
    told = lived.run("audit", "verify")
    assert told.code == 1
    assert f"line {line}: " in told.stdout


@pytest.mark.req("AU-03")
def test_older_valid_trail_put_back_is_found(lived: Workshop) -> None:
    file = lived.state / "audit-trail.jsonl"
    older = file.read_bytes()
    lived.decide(a_change())
    file.write_bytes(older)
    answer = lived.run("audit", "verify", "--json")
    assert (answer.code, answer.json["problems"][0]["line"]) == (1, 6)


@pytest.mark.req("AU-04", "EX-02", "AU-03")
@pytest.mark.parametrize("harm", [cut_last, begin_again])
def test_nothing_is_carried_out_on_a_trail_that_lost_records(
    lived: Workshop, harm: Callable[[Lines], Lines]
) -> None:
    lived.configure(autonomy=AUTOMATIC)
    diff = lived.diff()
    file = lived.state / "audit-trail.jsonl"
    harmed = b"".join(harm(file.read_bytes().splitlines(keepends=True)))
    file.write_bytes(harmed)
    answer = lived.propose_cli(diff, "--json")
    assert answer.code == 3
    assert answer.json["verdict"]["codes"] == ["explanation.unpersisted"]
    assert lived.branches() == []
    assert file.read_bytes() == harmed


@pytest.mark.req("AU-01")
def test_list_and_export_show_every_record(lived: Workshop, tmp_path: Path) -> None:
    listed = lived.run("audit", "list", "--json").json["records"]
    assert listed == lived.records()
    assert [record["seq"] for record in listed] == [1, 2, 3, 4, 5]
    assert lived.run("audit", "list", "--last", "2", "--json").json["records"] == listed[3:]
    copy = tmp_path / "trail.jsonl"
    assert lived.run("audit", "export", copy).code == 0
    assert copy.read_bytes() == (lived.state / "audit-trail.jsonl").read_bytes()
    assert lived.run("audit", "export", copy).code == 2


@pytest.mark.req("EX-01")
def test_explain_tells_rules_facts_revision_and_remedy(workshop: Workshop) -> None:
    verdict = workshop.decide(a_change(evidence__tests__failed=3))
    told = workshop.run("explain", verdict.decision_id)
    assert told.code == 0
    for text in (
        "tier.propose",
        "tipstaff.autonomy.require_approval#tier.propose",
        verdict.policy.revision,
        verdict.reasons[0].solution,
        '"failed": 3',
        "untrusted",
    ):
        assert text in told.stdout
    record = workshop.run("explain", verdict.decision_id, "--json").json
    assert record["detail"]["outcome"] == json.loads(verdict.model_dump_json(by_alias=True))
    assert workshop.run("explain", "unknown").code == 2
