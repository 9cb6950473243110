"""Each way of writing a document that some reader would take for another: refused by name before anything is asked."""

from __future__ import annotations

import hashlib
import json
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

from support.documents import a_change, a_file, changed
from support.played_engine import played
from support.stub_engine import answer
from support.workshop import AUTOMATIC, Workshop
from tipstaff.documents import strict_json
from tipstaff.documents.input import parse_input
from tipstaff.errors import ContractError
from tipstaff.ledger.new_request import request_key

TEXT = json.dumps(a_change())
COUNT = '"passed": 12'
CLASS = '"class": "heal_additive"'


def counted(*numbers: str) -> list[str | bytes]:
    """The document with something else for a count."""
    return [TEXT.replace(COUNT, f'"passed": {number}') for number in numbers]


def classed(*texts: str) -> list[str | bytes]:
    """The document with something else for the class."""
    return [TEXT.replace(CLASS, f'"class": {text}') for text in texts]


def with_member(*members: str) -> list[str | bytes]:
    """The document with one more member."""
    return [f"{TEXT[:-1]}, {member}}}" for member in members]


DEEP = "[" * 65 + "]" * 65
# A row of the catalogue: documents, and the codes that may refuse them.
REFUSED: dict[str, tuple[list[str | bytes], set[str]]] = {
    "row 2": (counted("null", "true", "false"), {"document.invalid"}),
    "row 3": (counted('"5"', "[]", "{}", "[12]", '"12"'), {"document.invalid"}),
    "row 4": (counted("-1", "-12", "-9007199254740991", "-0.0"), {"document.invalid"}),
    "row 5": (counted("1e309", "-1e309", "1E1000000", "9" * 5000, "1" + "0" * 20), {"json.number"}),
    "row 6": (counted("NaN", "Infinity", "-Infinity"), {"json.number"}),
    "row 7": (
        counted("0.30000000000000004", "12.0", "1e2", "1E2", "12e0", "1.2e1"),
        {"document.invalid"},
    ),
    "row 8": (
        counted("9007199254740993", "-9007199254740993", "9007199254740992"),
        {"json.number"},
    ),
    "row 9": (
        [
            *with_member('"kind": "change"', '"kind": "control"', '"\\u006bind": "control"'),
            TEXT.replace(COUNT, '"passed": 0, "passed": 12'),
            TEXT.replace(CLASS, CLASS + ", " + CLASS),
        ],
        {"json.duplicate_key"},
    ),
    "row 11": (
        [
            TEXT.replace('"subject"', '"Subject"'),
            TEXT.replace('"passed"', '"PASSED"'),
            TEXT.replace('"subject"', '"subj\u200bect"'),
            TEXT.replace('"subject"', '"\u0455ubject"'),
            *with_member('"e\u0301": 1', '"\u212b": 1', '"\u00e9": 1'),
        ],
        {"document.invalid", "json.encoding"},
    ),
    "row 12": (
        with_member('"__proto__": {}', '"$ref": "#"', '"constructor": 1', '"allow": true', '"": 1'),
        {"document.invalid"},
    ),
    "row 13": (
        [*with_member(f'"x": {DEEP}'), "[" * 20_000 + "]" * 20_000, '{"a":' * 20_000],
        {"json.too_deep"},
    ),
    "row 14": (
        [TEXT + " " * (strict_json.MAX_BYTES + 1 - len(TEXT)), "x" * (strict_json.MAX_BYTES * 2)],
        {"json.too_large"},
    ),
    "row 15": (
        [
            TEXT.encode().replace(b"alice", b"al\xffice"),
            TEXT.encode().replace(b"alice", b"\xc0\xaf"),
            TEXT.encode().replace(b"alice", b"\xed\xa0\x80"),
            TEXT.encode("utf-16"),
            TEXT.replace("alice", "\\ud800"),
            TEXT.replace('"subject"', '"\\udc00"'),
        ],
        {"json.encoding"},
    ),
    "row 16": (
        [
            "\ufeff" + TEXT,
            TEXT + "x",
            TEXT + TEXT,
            TEXT + "\n" + TEXT,
            TEXT + "\0",
            "/* a comment */" + TEXT,
            TEXT + " # a comment",
            TEXT[:-1] + ",}",
            "kind: change\nschema_version: 1\n",
            "--- " + TEXT,
            TEXT.replace('"', "'"),
        ],
        {"json.syntax", "json.encoding"},
    ),
    "row 18": (
        [*classed('["heal_additive"]', '{"0": "heal_additive"}')],
        {"document.invalid"},
    ),
}


@pytest.mark.promise("row 2", "row 3", "row 4", "row 5", "row 6", "row 7", "row 8", "row 9")
@pytest.mark.promise("row 11", "row 12", "row 13", "row 14", "row 15", "row 16", "row 18")
@pytest.mark.promise("BR-10", "BR-12", "D8", "T3")
@pytest.mark.parametrize("row", REFUSED)
def test_document_of_this_row_is_refused_by_its_code_and_never_asked_about(
    workshop: Workshop, monkeypatch: pytest.MonkeyPatch, row: str
) -> None:
    texts, codes = REFUSED[row]
    with played(workshop, monkeypatch, answer(b"{}")) as engine:
        for text in texts:
            data = text if isinstance(text, bytes) else text.encode()
            refused = workshop.run("decide", "-", "--json", stdin=data)
            assert refused.code == 2, text[:300]
            assert refused.json["error"]["code"] in codes, text[:300]
        assert engine.connections == 0
    assert workshop.records() == []


@pytest.mark.promise("row 4", "row 8")
def test_numbers_that_every_reader_holds_are_taken_as_they_are() -> None:
    most = 2**53 - 1
    for text, value in (("-0", 0), ("0", 0), (str(most), most), (str(-most), -most)):
        found = strict_json.loads(text.encode())
        assert (found, type(found), strict_json.canonical([found])) == (
            value,
            int,
            f"[{value}]".encode(),
        )


@pytest.mark.promise("row 14", "D8")
def test_document_of_300_mib_is_refused_without_being_read(tmp_path: Path) -> None:
    file = tmp_path / "huge.json"
    with file.open("wb") as stream:
        stream.truncate(300 << 20)
    tracemalloc.start()
    with pytest.raises(ContractError) as refused:
        strict_json.load(file)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert refused.value.code == "json.too_large"
    assert most < 8 << 20


@pytest.mark.promise("row 10", "BR-10")
def test_question_has_one_input_and_its_bytes_are_those_on_record(
    workshop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    hostile = a_change(subject__id='x"},"input":{"kind":"control"')
    with played(workshop, monkeypatch, answer(b"{}")) as engine, workshop.engine() as asking:
        asking.decide(hostile)
    [request] = engine.requests
    head, _, body = request.partition(b"\r\n\r\n")
    pairs = json.loads(body, object_pairs_hook=lambda items: items)
    assert [name for name, _ in pairs] == ["input"]
    assert head.lower().count(b"content-length") == head.lower().count(b"content-type") == 1
    sent = body.removeprefix(b'{"input":').removesuffix(b"}")
    assert sent == strict_json.canonical(json.loads(sent))
    [record] = workshop.records()
    assert hashlib.sha256(sent).hexdigest() == record["input_sha256"]


@pytest.mark.promise("row 17", "row 18", "row 19", "row 20", "BR-12", "ahead 4")
def test_class_in_any_other_spelling_is_never_carried_out(workshop: Workshop) -> None:
    workshop.configure(autonomy=AUTOMATIC)
    names = ["Heal_Additive", "HEAL_ADDITIVE", "heal_additive ", " heal_additive", "heal-additive"]
    names += ["heal_additive\u200b", "h\u0435al_additive", "heal_additive\0", "heal_additive\n"]
    names += ["\uff48eal_additive", "heal_additive.", "heal_foo", "*", "", "default", "null"]
    with workshop.engine() as engine:
        assert engine.decide(a_change()).effect == "allow"
        found = {name: engine.decide(a_change(name)).effect for name in names}
    assert not {
        name: effect for name, effect in found.items() if effect not in ("deny", "escalate")
    }


@pytest.mark.promise("row 20", "BR-12")
@pytest.mark.parametrize(
    "tier", ["Auto", "AUTO", 99, "extreme", None, True, [], "auto ", "observer"]
)
def test_unknown_tier_turns_every_class_off(workshop: Workshop, tier: object) -> None:
    workshop.configure(autonomy={"heal_additive": tier})
    decided = workshop.run("decide", "-", "--json", stdin=TEXT.encode())
    assert decided.code in (1, 2)
    assert decided.json.get("effect", "deny") == "deny"
    assert workshop.propose_cli(workshop.diff()).code in (1, 2)
    assert workshop.branches() == []


@pytest.mark.promise("row 22", "row 23", "BR-11")
def test_path_that_some_reader_takes_for_another_is_denied(workshop: Workshop) -> None:
    workshop.configure(autonomy=AUTOMATIC)
    paths = ["/srv/ws/../../etc/passwd", "../x", "a/../../x", "//a", "/a", "a//b", "a/./b", "./a"]
    paths += [
        "%2e%2e/x",
        "a/%2E%2E/x",
        "a%2fb",
        "..\\x",
        "a\\b",
        "C:\\x",
        "a.",
        "a ",
        "a./b",
        "a /b",
    ]
    paths += [
        "/proc/self/root/etc/passwd",
        "/dev/fd/3",
        "a\0b",
        "a\u202eb",
        "a\u2028b",
        "",
        ".",
        "..",
    ]
    with workshop.engine() as engine:
        found = engine.decide_many([a_change(resource__files=[a_file(path)]) for path in paths])
        moved = engine.decide_many(
            [a_change(resource__files=[a_file(status="renamed", old_path=path)]) for path in paths]
        )
    for path, one, other in zip(paths, found, moved, strict=True):
        assert one.effect == other.effect == "deny", path
        assert any(code.startswith("path.unclear") for code in one.codes), (path, one.codes)


# What the kinds of document that a delegated action will have must refuse. Today no such kind is known.
NOT_YET: dict[str, tuple[str, dict[str, Any]]] = {
    "row 24": (
        "action",
        {
            "hosts": [
                *("evilexample.com", "example.com.evil", "example.com@evil", "example.com."),
                *("xn--exmple-cua.com", "2130706433", "0x7f000001", "[::ffff:127.0.0.1]"),
            ]
        },
    ),
    "row 25": ("action", {"url": "https://evil.test/?next=example.com"}),
    "row 26": ("command", {"command": "rm -rf / # git status", "argv": ["rm", "-rf", "/"]}),
    "row 27": (
        "command",
        {"argv": ["/proc/self/root/usr/bin/npx", "x"], "others": [["ld-linux.so", "npx"]]},
    ),
    "row 29": ("spend", {"amounts": [99] * 1000, "cap": 100}),
    "row 30": ("spend", {"amounts": [1, "2", 3]}),
    "row 31": ("action", {"provenance": {"labels": [], "asserted_by": "agent", "origin": "*"}}),
    "row 32": ("action", {"provenance": "user", "text_from": "tool"}),
}


@pytest.mark.promise("row 24", "row 25", "row 26", "row 27", "row 29", "row 30", "row 31", "row 32")
@pytest.mark.parametrize("row", NOT_YET)
def test_kind_that_no_rules_judge_yet_is_denied_and_fits_into_no_other(
    workshop: Workshop, row: str
) -> None:
    workshop.configure(autonomy=AUTOMATIC)
    kind, facts = NOT_YET[row]
    document = {**a_change(), "kind": kind, "action": facts, "resource": facts, "evidence": {}}
    verdict = workshop.decide(document)
    assert (verdict.effect, verdict.codes) == ("deny", [f"input.kind_unknown:{kind}"])
    for place in ("action", "resource", "subject"):
        with pytest.raises(ContractError):
            parse_input({**a_change(), place: {**a_change()[place], **facts}})


@pytest.mark.promise("row 28", "row 30", "BR-17", "BR-12")
def test_empty_batch_and_batch_with_one_bad_document_are_refused_whole(workshop: Workshop) -> None:
    workshop.configure(autonomy=AUTOMATIC)
    bad = changed(a_change(), evidence__tests__passed="12")
    with workshop.engine() as engine:
        with pytest.raises(ContractError) as refused:
            engine.decide_many([])
        assert refused.value.code == "batch.empty"
        with pytest.raises(ContractError) as refused:
            engine.decide_many([a_change(), bad, a_change()])
        assert refused.value.code == "document.invalid"
        assert workshop.records() == []
        spend = {**a_change(), "kind": "spend", "action": {"amount": "1"}, "resource": {}}
        mixed = engine.decide_many([a_change(), {**spend, "evidence": {}}])
    assert [verdict.effect for verdict in mixed] == ["allow", "deny"]


@pytest.mark.promise("BR-17", "ahead 21", "row 28")
def test_nothing_measured_and_nothing_listed_open_no_gate(workshop: Workshop) -> None:
    workshop.configure(autonomy=AUTOMATIC)
    vacuous = {
        "no test ran": a_change(evidence__tests__passed=0),
        "all were skipped": changed(
            a_change(), evidence__tests__passed=0, evidence__tests__skipped=12
        ),
        "no evidence": changed(a_change(), evidence={}),
        "no file": a_change(resource__files=[]),
        "no protection held": a_change(evidence__sandbox__held=[]),
        "nobody looked": a_change(action__found_capabilities=None),
        "no class": a_change(None),
    }
    with workshop.engine() as engine:
        found = {name: engine.decide(document).effect for name, document in vacuous.items()}
    assert not {name: effect for name, effect in found.items() if effect == "allow"}


@pytest.mark.promise("BR-11")
def test_near_collisions_have_digests_and_keys_of_their_own(workshop: Workshop) -> None:
    pairs = [("a:b", "a/b"), ("a b", "a_b"), ("é", "e\u0301"), ("a%2fb", "a/b"), ("1", "1.0")]
    with workshop.engine() as engine:
        for one, other in pairs:
            digests = {
                engine.question(a_change(resource__files=[a_file(path)])).judged_sha256
                for path in (one, other)
            }
            assert len(digests) == 2, (one, other)
        moved = [a_file("x_", old_path="y"), a_file("x", old_path="_y"), a_file("x_y")]
        asked = [engine.question(a_change(resource__files=[file])) for file in moved]
    assert len({question.judged_sha256 for question in asked}) == 3
    assert request_key("ab", "c") != request_key("a", "bc")
