"""What is taken by its form alone is exactly what the model would take, and means the same."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tipstaff.documents.strict_json import canonical
from tipstaff.errors import ContractError
from tipstaff.ledger.approval_fold import Fold
from tipstaff.ledger.approval_lines import read_event
from tipstaff.ledger.approval_skim import skim

REQUEST: dict[str, Any] = {
    "alternatives": ["leave it"],
    "bundle_revision": "r1",
    "confirm_within_s": 600,
    "confirmations": 1,
    "created_at": "2026-03-01T12:00:00.000000Z",
    "decision_id": "d1",
    "digest": "a" * 64,
    "event": "request",
    "evidence": {"risk": 0.05},
    "expires_at": "2026-03-01T12:15:00.000000Z",
    "key": "p:" + "a" * 64,
    "kind": "harness",
    "requested_by": {"id": "alice@desk", "type": "agent"},
    "risk": "low",
    "schema_version": 1,
    "urgency": "normal",
    "what": "Promote it.",
    "why": ["because"],
}
DECISION: dict[str, Any] = {
    "at": "2026-03-01T12:01:00.000000Z",
    "by": {"id": "bob@desk", "type": "human"},
    "event": "decision",
    "key": "p:" + "a" * 64,
    "mac": None,
    "note": None,
    "schema_version": 1,
    "status": "approved",
}
TEXTS = st.text(st.characters(codec="utf-8"), max_size=12)
NUMBERS = st.integers(-(2**53) + 1, 2**53 - 1) | st.floats(allow_nan=False, allow_infinity=False)
JSON = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=8,
)
VALUES = st.sampled_from(
    [None, True, 0, 1, 2, 3, 1.0, "", "x", "a" * 64, "p:" + "a" * 64, [], ["x"], {}, {"id": "x"}]
)


def _read(line: bytes, fold: Fold) -> bool:
    try:
        fold.add(read_event(line), line)
    except ContractError:
        return False
    return True


def _skimmed(line: bytes, fold: Fold) -> bool | None:
    """Whether it was taken; None where it is left to the model."""
    try:
        return True if skim(line, fold) else None
    except ContractError:
        return False


def _same(line: bytes, *, with_request: bool) -> bool | None:
    quick, whole = Fold(), Fold()
    if with_request:
        first = canonical(REQUEST)
        assert skim(first, quick)
        assert _read(first, whole)
    taken, right = _skimmed(line, quick), _read(line, whole)
    if taken is not None:
        assert taken == right
        assert quick.entries == whole.entries
    return taken


@settings(max_examples=150, deadline=None)
@given(
    evidence=st.dictionaries(TEXTS, JSON, max_size=4), what=TEXTS, why=st.lists(TEXTS, max_size=2)
)
@example(evidence={"a": {"z": 1e-5, "y": [1e15, 123.25]}}, what="x", why=["y"])
def test_request_of_any_content_is_read_alike(evidence: Any, what: str, why: list[str]) -> None:
    line = canonical({**REQUEST, "evidence": evidence, "what": what, "why": why})
    _same(line, with_request=False)


@settings(max_examples=200, deadline=None)
@given(data=st.data())
def test_line_with_a_member_of_any_value_or_an_edited_byte_is_read_alike(
    data: st.DataObject,
) -> None:
    fields = dict(data.draw(st.sampled_from([REQUEST, DECISION])))
    name = data.draw(st.sampled_from([*fields, "extra"]))
    fields[name] = data.draw(VALUES | TEXTS)
    line = canonical(fields)
    if data.draw(st.booleans()):
        line = canonical(data.draw(st.sampled_from([REQUEST, DECISION])))
        at = data.draw(st.integers(0, len(line) - 1))
        line = line[:at] + bytes([data.draw(st.integers(0, 255))]) + line[at + 1 :]
    _same(line, with_request=data.draw(st.booleans()))


@pytest.mark.parametrize(
    "evidence",
    [
        '{"a":1,"a":2}',
        '{"b":1,"a":2}',
        '{"a": 1}',
        '{"a":1.0}',
        '{"a":1e3}',
        '{"a":-0}',
        '{"a":9007199254740993}',
        '{"a":NaN}',
        '{"a":"\\u0061"}',
        '{"a":1},"event":"request"',
        '{},"evidence":{}',
        "[]",
        "null",
        '{"a":' + "[" * 70 + "]" * 70 + "}",
        '{"a":',
    ],
)
def test_evidence_that_is_not_canonical_is_not_taken_by_its_form(evidence: str) -> None:
    text = json.dumps(REQUEST, separators=(",", ":"))
    line = text.replace('{"risk":0.05}', evidence).encode()
    assert line != text.encode()
    assert _same(line, with_request=False) in (None, False)
    assert not _read(line, Fold())


def test_ordinary_lines_are_taken_by_their_form() -> None:
    assert _same(canonical(REQUEST), with_request=False) is True
    assert _same(canonical(DECISION), with_request=True) is True
    assert _same(canonical({**DECISION, "status": "rejected"}), with_request=True) is True
    assert _same(canonical(DECISION), with_request=False) is False
