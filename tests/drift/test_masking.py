"""What a canary's fingerprint holds: everything that was answered, but what is masked."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tipstaff.drift.masking import differences, fingerprint, masked


def answer(value: Any, **members: Any) -> dict[str, Any]:
    """A tool's answer with structured content and the same as a text, as SDKs write it."""
    text = {"type": "text", "text": json.dumps(value)}
    return {"result": {"content": [text], "structuredContent": value, **members}}


def told(text: str) -> dict[str, Any]:
    """A tool's answer of one text."""
    return {"result": {"content": [{"type": "text", "text": text}]}}


@pytest.mark.req("C-14")
@pytest.mark.parametrize(
    ("one", "other"),
    [
        (told("YES"), told("yes")),
        (told("20C"), told("68F")),
        (told("a b"), told("a  b")),
        (told("1"), told("1.0")),
        (told('{"a": 1}'), told('{"a": 1.0}')),
        (answer({"n": 1}), answer({"n": 2})),
        (answer({"n": 1}), answer({"n": "1"})),
        (answer({"n": None}), answer({})),
        (answer({}), answer({}, isError=True)),
        (answer({}), {"error": {"code": -32603, "message": "x"}}),
        (answer(["a", "b"]), answer(["b", "a"])),
    ],
)
def test_whatever_differs_is_another_fingerprint(one: Any, other: Any) -> None:
    assert fingerprint(one) != fingerprint(other)
    assert len(fingerprint(one)) == 64


@pytest.mark.req("C-14")
@pytest.mark.parametrize(
    "mask", ["/ts", "/structuredContent/ts", "/content/0/text/ts", "/content/0/text"]
)
def test_mask_covers_what_it_points_to(mask: str) -> None:
    masks = {mask, "/ts"}
    one, other = (answer({"ts": time, "sky": "clear"}) for time in ("10:00", "11:00"))
    assert fingerprint(one) != fingerprint(other)
    assert fingerprint(one, masks) == fingerprint(other, masks)
    assert masked(one, masks)[1] == masks
    rain = answer({"ts": "10:00", "sky": "rain"})
    assert mask == "/content/0/text" or fingerprint(rain, {mask}) != fingerprint(one, {mask})


@pytest.mark.req("C-14")
def test_numbers_and_case_count_beside_a_mask_in_a_text() -> None:
    texts = ['{"ts": 1, "n": 1.0, "s": "A"}', '{"ts": 2, "n": 1.00, "s": "A"}']
    texts += ['{"ts": 3, "n": 1.0, "s": "a"}', '{"ts": 4, "n": "1.0", "s": "A"}']
    texts += ['{"ts": 5, "n": 1.0}', '{"n": 1.0, "s": "A"}', '{"ts": {}, "n": 1.0, "t": "A"}']
    assert len({fingerprint(told(text), ["/ts"]) for text in texts}) == len(texts)
    same = ['{"ts": "x", "n": 1.0, "s": "A"}', '{"ts":null,"n":1.0,"s":"A"}']
    assert len({fingerprint(told(text), ["/ts"]) for text in same}) == 1


@pytest.mark.parametrize("mask", ["/other", "/ts/deeper", "/content/1/text", "/ts2", "/content/00"])
def test_mask_of_nothing_is_told(mask: str) -> None:
    value = answer({"ts": 1})
    assert masked(value, [mask]) == (value, set())


@pytest.mark.parametrize(
    "text",
    ["[" * 100 + "]" * 100, '{"a": 1, "a": 2}', "{", "[1,]", "[" * 100_000, '{"a": NaN', '"a"', ""],
)
def test_text_that_is_no_plain_json_is_compared_as_it_is(text: str) -> None:
    assert masked(told(text), ["/a", "/0"]) == (told(text), set())


def test_where_answers_differ_is_told_in_the_spelling_of_masks() -> None:
    answers = [answer({"ts": number, "sky": {"now": "clear"}}) for number in range(3)]
    assert differences(answers, []) == ["/content/0/text/ts", "/structuredContent/ts"]
    assert differences(answers, ["/ts"]) == []


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53) + 1, 2**53 - 1)
    | st.text("ab~/0\u00e9", max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text("ab~/0", max_size=2), inner, max_size=3)
    ),
    max_leaves=8,
)
POINTERS = st.lists(st.text("ab~/0", max_size=2), min_size=1, max_size=3).map(
    lambda steps: "".join("/" + step.replace("~", "~0").replace("/", "~1") for step in steps)
)


@given(value=JSON, masks=st.lists(POINTERS, max_size=3))
def test_any_answer_has_one_fingerprint_and_is_left_as_it_is(value: Any, masks: list[str]) -> None:
    given_answer = answer(value)
    before = json.dumps(given_answer)
    assert fingerprint(given_answer, masks) == fingerprint(json.loads(before), reversed(masks))
    assert json.dumps(given_answer) == before
    assert masked(given_answer, masks)[1] <= set(masks)
