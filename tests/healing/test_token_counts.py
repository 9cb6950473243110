"""Tokens are counted offline, by a public table that is known by its digest."""

from __future__ import annotations

import socket
from pathlib import Path
from typing import Any

import pytest

from tipstaff.errors import EvidenceError
from tipstaff.healing.augment import tokens


@pytest.fixture
def fresh() -> Any:
    """No table is loaded before or after."""
    tokens._encoding.cache_clear()
    yield
    tokens._encoding.cache_clear()


# As the encoding's own publisher counts them.
COUNTS = {
    "": 0,
    "hello world": 2,
    "tiktoken is great!": 6,
    "antidisestablishmentarianism": 6,
    "2 + 2 = 4": 7,
    "お誕生日おめでとう": 9,
    "<|endoftext|>": 7,
}


@pytest.mark.req("A-04")
@pytest.mark.parametrize("text", sorted(COUNTS))
def test_tokens_are_those_of_the_named_encoding(text: str) -> None:
    counted = tokens.compare(text.encode(), b"x")
    assert (counted.tokenizer, counted.before, counted.after) == ("cl100k_base", COUNTS[text], 1)
    assert counted.version.startswith("tiktoken ")
    assert counted.vocabulary_sha256 == tokens.SHA256


@pytest.mark.req("A-04")
def test_counting_opens_no_connection(fresh: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, **__: Any) -> Any:
        raise AssertionError("a connection was opened")

    monkeypatch.setattr(socket, "socket", refuse)
    monkeypatch.setattr(socket, "create_connection", refuse)
    assert tokens.compare(b"hello world", b"").before == 2


@pytest.mark.req("A-04")
@pytest.mark.parametrize("table", [None, b"aGVsbG8= 0\n"])
def test_table_that_is_missing_or_another_counts_nothing(
    fresh: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, table: bytes | None
) -> None:
    file = tmp_path / "table"
    if table is not None:
        file.write_bytes(table)

    class Carrier:
        def locate_file(self, _: str) -> Path:
            return file

    monkeypatch.setattr(tokens, "distribution", lambda _: Carrier())
    with pytest.raises(EvidenceError) as caught:
        tokens.compare(b"a", b"b")
    assert caught.value.code == "augment.tokenizer"


@pytest.mark.parametrize("text", ["a" * 200_000, "^" * 50_000, " " * 200_000, "\u0301" * 20_000])
def test_long_runs_of_one_character_are_counted(text: str) -> None:
    assert 0 < tokens.compare(text.encode(), b"").before <= len(text.encode())
