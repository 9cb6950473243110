"""Tables for people: whole on a pipe, and on a terminal never with an id that is broken."""

from __future__ import annotations

import sys

import pytest

from tipstaff.cli.output import print_table

ID = "01a22c25-e7ed-7b5b-b2ef-4583ffb506ab"


def _terminal(monkeypatch: pytest.MonkeyPatch, columns: int) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", str(columns))


def test_line_on_a_pipe_is_whole_and_ends_with_its_text(capsys: pytest.CaptureFixture[str]) -> None:
    long = " ".join(["word"] * 100)
    print_table(["ID", "READY", "WHAT"], [[ID, True, long], [ID, False, None]])
    assert capsys.readouterr().out.splitlines()[1:] == [f"{ID}  yes    {long}", f"{ID}  no"]


def test_long_last_column_on_a_terminal_is_folded_below_itself(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    _terminal(monkeypatch, 60)
    print_table(["ID", "WHAT"], [[ID, "twenty letters are here and more of them"]])
    lines = _plain(capsys.readouterr().out).splitlines()
    assert lines[1].endswith(f"{ID}  twenty letters are")
    assert lines[2] == " " * 38 + "here and more of them"


def test_row_without_room_on_a_terminal_is_a_block_with_its_id_whole(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    _terminal(monkeypatch, 40)
    print_table(["ID", "CODES", "WHAT"], [[ID, "", "first"], [ID, "a.b", "second one"]])
    assert _plain(capsys.readouterr().out) == (
        f"ID     {ID}\nWHAT   first\n\nID     {ID}\nCODES  a.b\nWHAT   second one\n"
    )


def _plain(text: str) -> str:
    return text.replace("\x1b[1m", "").replace("\x1b[0m", "")
