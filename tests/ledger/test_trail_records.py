"""What a record holds, and what its line is."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import get_args

import pytest
import rfc8785

from support.ledger_parts import ALICE, NOON, SetClock, decision, explanation, note, trail
from tipstaff.documents.audit import AuditRecord, Entry
from tipstaff.errors import ContractError, EvidenceError
from tipstaff.ledger.record import NewRecord


def _lines(folder: Path) -> list[bytes]:
    return (folder / "state" / "audit-trail.jsonl").read_bytes().splitlines()


@pytest.mark.req("AU-01")
def test_each_record_is_one_line_of_the_trail(tmp_path: Path) -> None:
    with trail(tmp_path) as mine:
        for effect in ("allow", "require_approval", "escalate", "deny"):
            mine.append(decision(effect))
        mine.append(note("no drift"), note("clamped"))
    assert len(_lines(tmp_path)) == 6


@pytest.mark.req("AU-02")
def test_a_record_has_all_its_fields_in_canonical_bytes(tmp_path: Path) -> None:
    with trail(tmp_path, clock=SetClock()) as mine:
        [record] = mine.append(decision("allow", action_class="augment", autonomy_tier="auto"))
    [line] = _lines(tmp_path)
    value = json.loads(line)
    assert set(value) == set(AuditRecord.model_fields)
    assert AuditRecord.model_validate(value) == record
    assert line == rfc8785.dumps(value)
    assert value["at"] == "2026-03-01T12:00:00.000000Z"
    with pytest.raises(ContractError, match="decision"):
        mine.append(NewRecord("perhaps", "x", {}, ALICE))  # type: ignore[arg-type]
    assert "perhaps" not in get_args(Entry)
    assert _lines(tmp_path) == [line]


def test_the_hash_covers_all_other_fields_and_links_back(tmp_path: Path) -> None:
    with trail(tmp_path) as mine:
        mine.append(decision(), note('"hash":"' + "0" * 64 + '","input_sha256":null,"prev":'))
        nested = {"hash": "f" * 64, "input_sha256": None, "prev": "0" * 64, "target": "x"}
        mine.append(NewRecord("detected", 'a "quoted\\" target', nested, ALICE))
        assert mine.verify().problems == ()
    prev = "0" * 64
    for number, line in enumerate(_lines(tmp_path), 1):
        value = json.loads(line)
        claimed = value.pop("hash")
        assert (value["seq"], value["prev"]) == (number, prev)
        assert hashlib.sha256(rfc8785.dumps(value)).hexdigest() == claimed
        prev = claimed


@pytest.mark.req("EX-01")
def test_a_decision_without_correction_is_a_schema_error(tmp_path: Path) -> None:
    mine = trail(tmp_path)
    detail = explanation()
    del detail["correction"]
    for bad in (detail, explanation(correction=[])):
        with pytest.raises(ContractError, match="correction") as refused:
            mine.append(NewRecord("deny", "x", bad, ALICE))
        assert refused.value.exit_code == 2
    assert not _lines(tmp_path)
    mine.append(decision("deny"))
    [record] = mine.records()
    assert record.detail["outcome"]["effect"] == "deny"
    mine.close()


@pytest.mark.req("EX-05")
def test_a_terminal_escape_in_evidence_is_stored_escaped(tmp_path: Path) -> None:
    hostile = "\x1b[2J\nfake line\u0000"
    with trail(tmp_path) as mine:
        mine.append(decision(detail={"evidence": {"output": hostile}}))
        [record] = mine.records()
    [line] = _lines(tmp_path)
    assert b"\x1b" not in line and b"\\u001b[2J\\nfake line\\u0000" in line
    assert record.detail["evidence"]["output"] == hostile
    assert record.detail["untrusted"] == ["event", "evidence"]


def test_an_invalid_record_in_a_group_writes_none_of_it(tmp_path: Path) -> None:
    with trail(tmp_path) as mine:
        mine.append(note())
        for bad in ({"x": 2**60}, {"x": float("nan")}, {"x": "\ud800"}, {"x": {1: 2}}):
            with pytest.raises(ContractError):
                mine.append(note("good"), NewRecord("detected", "x", bad, ALICE))
        assert len(_lines(tmp_path)) == 1
        assert mine.append() == []
        mine.append(note("after"))
        assert mine.verify().problems == ()


def test_a_record_larger_than_any_reader_takes_is_refused(tmp_path: Path) -> None:
    with trail(tmp_path) as mine:
        mine.append(note())
        with pytest.raises(ContractError) as refused:
            mine.append(note("x" * (9 << 20)))
        assert refused.value.code == "trail.too_large"
        mine.append(note("y" * (7 << 20)))
        assert mine.verify().problems == ()


def test_files_of_trail_and_witness_are_closed_to_others(tmp_path: Path) -> None:
    old = os.umask(0)
    try:
        with trail(tmp_path) as mine:
            mine.append(note())
    finally:
        os.umask(old)
    made = [path for path in tmp_path.rglob("*") if path != tmp_path]
    assert len(made) > 6
    assert {path.stat().st_mode & 0o077 for path in made} == {0}


def test_a_decision_is_found_by_its_id_among_its_records(tmp_path: Path) -> None:
    with trail(tmp_path, clock=SetClock(NOON)) as mine:
        mine.append(note("before", decision_id="decision-1"), decision("allow"), note("after"))
        assert mine.find("decision-1").decision == "allow"
        mine.append(note("alone", decision_id="decision-2"))
        assert mine.find("decision-2").detail == {"note": "alone"}
        with pytest.raises(ContractError) as refused:
            mine.find("decision")
        assert (refused.value.code, refused.value.exit_code) == ("trail.ambiguous", 2)
        with pytest.raises(ContractError) as refused:
            mine.find("decision-3")
    assert (refused.value.code, refused.value.exit_code) == ("trail.unknown", 2)


def test_reading_a_trail_that_was_never_written_creates_nothing(tmp_path: Path) -> None:
    mine = trail(tmp_path)
    assert list(mine.records()) == []
    assert mine.verify().records == 0
    assert mine.verify().problems == ()
    mine.close()
    assert list(tmp_path.iterdir()) == []


def test_a_line_that_is_no_record_stops_the_reading_there(tmp_path: Path) -> None:
    with trail(tmp_path) as mine:
        mine.append(note("one"), note("two"), note("three"))
    lines = _lines(tmp_path)
    mine.path.write_bytes(b"\n".join([lines[0], b"{}", lines[2], b""]))
    reader = mine.records()
    assert next(reader).detail == {"note": "one"}
    with pytest.raises(EvidenceError) as stopped:
        next(reader)
    assert (stopped.value.code, stopped.value.field) == ("trail.corrupt", "line 2")


def test_the_trail_loads_without_a_database_or_cryptography() -> None:
    code = (
        "import sys, tipstaff.ledger.trail, tipstaff.ledger.pause;"
        "print([m for m in ('sqlalchemy', 'cryptography', 'deepdiff') if m in sys.modules])"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"
