"""A document of the wrong shape is refused by name, and the engine is never asked about it."""

from __future__ import annotations

import json

import pytest

from support.documents import a_change, an_act, without
from support.played_engine import played
from support.stub_engine import answer
from support.workshop import Workshop

TEXT = json.dumps(a_change())
NESTED = "[" * 80 + "]" * 80

WRONG: list[tuple[str, str, str]] = [
    (
        "a misspelt key",
        json.dumps({**a_change(), "trust_tier": "high", "trus_tier": "x"}),
        "trus_tier",
    ),
    ("a misspelt key further down", TEXT.replace('"failed"', '"faild"'), "evidence.tests.faild"),
    ("another misspelt key", TEXT.replace('"found_cap', '"foud_cap'), "foud_capabilities"),
    ("a key twice", TEXT[:-1] + ', "kind": "change"}', "kind"),
    ("an inner key twice", TEXT.replace('"passed": 12', '"passed": 0, "passed": 12'), "passed"),
    ("NaN", TEXT.replace(": 12", ": NaN"), "NaN"),
    ("infinity", TEXT.replace(": 12", ": -Infinity"), "-Infinity"),
    ("a float beyond all", TEXT.replace(": 12", ": 1e999"), "1e999"),
    (
        "an integer that readers round",
        TEXT.replace(": 12", ": 9007199254740993"),
        "9007199254740993",
    ),
    ("a count with a fraction", TEXT.replace(": 12", ": 12.5"), "evidence.tests.passed"),
    ("a count as a float", TEXT.replace(": 12", ": 12.0"), "evidence.tests.passed"),
    ("a count as a string", TEXT.replace(": 12", ': "12"'), "evidence.tests.passed"),
    ("a count as a switch", TEXT.replace(": 12", ": true"), "evidence.tests.passed"),
    ("a negative count", TEXT.replace(": 12", ": -12"), "evidence.tests.passed"),
    ("a switch as a string", TEXT.replace('"isolated": true', '"isolated": "true"'), "isolated"),
    ("a digest in capitals", TEXT.replace("3f3f", "3F3F"), "diff_sha256"),
    (
        "a capability in capitals",
        TEXT.replace('s": []', 's": ["RAW"]', 1),
        "requested_capabilities",
    ),
    ("no subject", json.dumps(without(a_change(), "subject")), "subject"),
    ("no files", json.dumps(without(a_change(), "resource", "files")), "resource.files"),
    ("no act's resource", json.dumps(without(an_act(), "resource", "id")), "resource.id"),
    (
        "another version",
        TEXT.replace('"schema_version": 1', '"schema_version": 2'),
        "schema_version",
    ),
    ("no version", json.dumps(without(a_change(), "schema_version")), "schema_version"),
    ("no kind", json.dumps(without(a_change(), "kind")), "kind"),
    ("deeply nested", TEXT[:-1] + f', "x": {NESTED}}}', "nested"),
    ("a million brackets", "[" * 1_000_000, "nested"),
    ("too large", TEXT[:-1] + ', "x": "' + "y" * (1 << 20) + '"}', "bytes"),
    ("a list", f"[{TEXT}]", "object"),
    ("null", "null", "object"),
    ("nothing", "", "line 1"),
    ("half a document", TEXT[:-5], "line 1"),
    ("two documents", TEXT + TEXT, "line 1"),
    ("a byte order mark", "\ufeff" + TEXT, "byte order mark"),
    ("half a character", TEXT.replace("alice", "\\ud800"), "surrogate"),
    ("a comment", "// hi\n" + TEXT, "line 1"),
]


@pytest.mark.promise("BR-12")
@pytest.mark.req("E-05", "E-11")
@pytest.mark.parametrize(("wrong", "text", "named"), WRONG, ids=[wrong for wrong, _, _ in WRONG])
def test_document_of_the_wrong_shape_is_refused_before_any_query(
    workshop: Workshop, monkeypatch: pytest.MonkeyPatch, wrong: str, text: str, named: str
) -> None:
    with played(workshop, monkeypatch, answer(b"{}")) as engine:
        refused = workshop.run("decide", "-", "--json", stdin=text.encode())
        assert engine.connections == 0
    assert refused.code == 2
    told = refused.json["error"]
    assert named in f"{told['field']} {told['message']}"
    assert told["fix"]
    assert workshop.records() == []


@pytest.mark.req("E-05")
def test_document_that_is_not_text_is_refused(workshop: Workshop) -> None:
    for data in (TEXT.encode("utf-16"), TEXT.encode().replace(b"alice", b"\xff"), b"\x00\x01"):
        refused = workshop.run("decide", "-", "--json", stdin=data)
        assert (refused.code, refused.json["error"]["code"][:5]) == (2, "json.")


@pytest.mark.req("E-05")
def test_file_is_named_in_its_refusal(workshop: Workshop) -> None:
    file = workshop.root.parent / "change.json"
    file.write_text(TEXT.replace('"failed"', '"faild"'))
    refused = workshop.run("decide", file)
    assert refused.code == 2
    assert str(file) in refused.stderr
    assert "evidence.tests.faild" in refused.stderr
    assert refused.stdout == ""


@pytest.mark.promise("BR-10")
@pytest.mark.req("E-05")
def test_context_that_a_caller_brings_is_not_used(workshop: Workshop) -> None:
    own = {"now": "1999-01-01T00:00:00Z", "pause": {"global": False}}
    with workshop.engine() as engine:
        mine = engine.question(a_change()).document["context"]
    told = {**mine, "now": own["now"], "actor": {"id": "root@x", "type": "human"}}
    verdict = workshop.decide({**a_change(), "context": told})
    record = workshop.records()[-1]
    assert record["decision_id"] == verdict.decision_id != mine["decision_id"]
    used = record["detail"]["preferences"]
    assert used["now"] > own["now"]
    assert used["actor"]["id"] != "root@x"
