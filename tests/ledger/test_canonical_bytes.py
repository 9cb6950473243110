"""The quick way to canonical bytes writes what the reference writes, or is not taken."""

from __future__ import annotations

from typing import Any

import pytest
import rfc8785
from hypothesis import given, settings
from hypothesis import strategies as st

from tipstaff.documents.strict_json import canonical
from tipstaff.errors import ContractError

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
