"""Outside text in Markdown is shown and never obeyed."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token

from tipstaff.documents.markdown import code, prose

RENDERER = MarkdownIt("commonmark").enable(["table", "strikethrough"])
PLACES = (
    "{}",
    "- {}: said",
    "- a\n  - b: {}",
    "## {}",
    "| a | b |\n|---|---|\n| {} | c |",
    "> {}",
    "*{}*",
)


def _texts(tokens: list[Token]) -> list[tuple[str, str]]:
    inner = [child for token in tokens for child in token.children or []]
    return [(token.type, token.content) for token in inner if token.content]


def _shape(tokens: list[Token]) -> list[str]:
    inner = [child.type for token in tokens for child in token.children or []]
    return [token.type for token in tokens] + inner


@pytest.mark.parametrize("place", PLACES)
@given(text=st.text(max_size=400))
@example(text="`a` ``b`` ```")
@example(text="<img src=x onerror=alert(1)>")
@example(text="![x](https://example.com/x.png)")
@example(text="@octocat fixes #1")
@example(text="a\n\n# heading\r\n- item")
@example(text="a|b\\|c")
@example(text=" ")
@example(text="\\")
@example(text="`" * 300)
def test_any_text_is_one_code_span_and_changes_nothing_around_it(place: str, text: str) -> None:
    shown = code(text)
    tokens = RENDERER.parse(place.format(shown))
    plain = RENDERER.parse(place.format("`x`"))
    assert _shape(tokens) == _shape(plain)
    assert ("code_inline", shown[1:-1]) in _texts(tokens)


@given(text=st.text())
def test_any_text_is_one_printable_line_of_bounded_length(text: str) -> None:
    shown = code(text, limit=50)
    assert shown.isprintable() or "\u3000" in shown or any(c.isspace() for c in shown)
    assert len(shown.splitlines()) == 1
    assert len(shown) <= 50 + 43


@given(
    text=st.text(
        st.characters(whitelist_categories=("L", "N", "S", "P"), blacklist_characters="`|"),
        min_size=1,
        max_size=100,
    )
)
def test_harmless_text_is_shown_unchanged(text: str) -> None:
    assert code(text) == f"`{text}`"


def test_hidden_direction_marks_are_shown_as_escapes() -> None:
    assert code("a\u202egpj.exe\x1b[2J") == "`a\\u{202e}gpj.exe\\u{1b}[2J`"


def test_empty_text_is_named_as_empty() -> None:
    assert code("") == "`(empty)`"


@pytest.mark.parametrize("place", PLACES[:6])
@given(text=st.text(max_size=400))
@example(text="run `tipstaff policy sign` | see [x](javascript:y) and ![z](http://a)")
@example(text="<img src=x onerror=alert(1)> &lt; <!-- `a")
@example(text="# head\n\n- list\n1. x\n> y\n```\ncode")
@example(text="1. x")
@example(text="+ x")
@example(text="=====")
@example(text="~~~ *a* **b** _c_ __d__ ~~e~~ a_b_c")
@example(text="\u202eback `c|d` `` e ` f | \\| g \\\\` h")
def test_any_prose_is_words_and_code_and_changes_nothing_around_it(place: str, text: str) -> None:
    tokens = RENDERER.parse(place.format(prose(f"x {text}")))
    plain = RENDERER.parse(place.format("x"))
    assert [token.type for token in tokens] == [token.type for token in plain]
    alone = RENDERER.parse(prose(text))
    assert [token.type for token in alone] in (
        [],
        ["paragraph_open", "inline", "paragraph_close"],
    )
    inner = {child.type for each in (*tokens, *alone) for child in each.children or []}
    assert inner <= {"text", "code_inline"}
    assert len(prose(text).splitlines()) <= 1


def test_prose_keeps_its_words_and_its_code() -> None:
    said = "give {it} or policy.public_key; `tipstaff policy sign | x` <b>"
    [inline] = [token for token in RENDERER.parse(prose(said)) if token.children]
    assert inline.children is not None
    shown = "".join(child.content for child in inline.children)
    assert shown == "give {it} or policy.public_key; tipstaff policy sign \\u{7c} x <b>"
