"""The quick way to canonical bytes writes what the reference writes, or is not taken."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
import rfc8785
from hypothesis import given, settings
from hypothesis import strategies as st

from tipstaff.documents.input import parse_input
from tipstaff.documents.strict_json import canonical, joined
from tipstaff.engine.question import complete
from tipstaff.errors import ContractError

EXAMPLES = sorted((Path(__file__).parents[2] / "contracts/examples").glob("*.input.json"))
_SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.integers(2**53 - 3, 2**53 + 3)
    | st.floats()
    | st.text()
    | st.sampled_from(
        ["\u2028", "\x7f", "\x00\x1f", "😀", "\ue000", '":1.5', "[1e5", "12:00.5", "\ud800"]
    )
)
_KEYS = st.text() | st.integers() | st.none() | st.booleans() | st.sampled_from(["😀", "\uffff"])
_VALUES = st.recursive(
    _SCALARS,
    lambda inner: (
        st.lists(inner)
        | st.dictionaries(_KEYS, inner)
        | st.dictionaries(st.text(), inner)
        | st.tuples(inner, inner)
    ),
    max_leaves=20,
)


@pytest.mark.promise("T3")
@settings(max_examples=300, deadline=None)
@given(st.dictionaries(st.text(), _VALUES) | _VALUES)
def test_any_value_is_written_as_the_reference_writes_it(value: Any) -> None:
    try:
        wanted = bytes(rfc8785.dumps(value))
    except (rfc8785.CanonicalizationError, UnicodeEncodeError):
        wanted = None
    try:
        written = canonical(value)
    except ContractError:
        written = None
    assert written == wanted


@pytest.mark.parametrize("file", EXAMPLES, ids=lambda file: file.name)
@pytest.mark.parametrize(
    "note", ['"bundles":{},"config":{}', "token: ghp_" + "a" * 36, "ä\U0001f600"]
)
def test_a_question_put_together_of_parts_has_the_bytes_of_the_whole(file: Path, note: str) -> None:
    given = json.loads(file.read_text())
    context = {
        "decision_id": "1",
        "bundles": {"tipstaff": "r", "org": None},
        "config": {"team": {"z": note}, "team_sha256": "a", "local_sha256": None},
    }
    question = complete(parse_input(given), context)
    assert question.body == rfc8785.dumps(question.document)
    rest = {name: value for name, value in question.document.items() if name != "context"}
    digests = {"team_sha256": "a", "local_sha256": None}
    form = rfc8785.dumps({**rest, "bundles": context["bundles"], "config": digests})
    assert question.judged_sha256 == hashlib.sha256(b"tipstaff/judged/1\0" + form).hexdigest()


def test_parts_are_joined_in_their_order_and_empty_ones_leave_nothing() -> None:
    parts = [{"a": 1}, {}, {"b": [2], "c": {}}]
    whole = {name: value for part in parts for name, value in part.items()}
    assert joined(*map(canonical, parts)) == canonical(whole)
    assert joined(b"{}") == b"{}"
