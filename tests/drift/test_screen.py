"""What a person sees of a contract before accepting it is what is digested, and nothing looks like something else."""

from __future__ import annotations

import json
import subprocess
import unicodedata
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.contracts import FORECAST, STATIONS, TIME, capture, edited, taken
from tipstaff.documents.contract import Snapshot, snapshot
from tipstaff.drift.confusion import prototype
from tipstaff.drift.screen import difference, render

TRICKS = {
    "tag": "Forecast\U000e0041\U000e0042.",
    "zero width": "Fore\u200bcast.",
    "joiner": "Fore\u2060cast.",
    "bidi": "Forecast\u202e.tsac",
    "soft hyphen": "Fore\u00adcast.",
    "cyrillic": "Forec\u0430st.",
    "armenian": "Forecas\u057f.",
    "greek": "F\u03bfrecast.",
    "full width": "\uff26orecast.",
    "composed": "F\u00f6recast.",
    "combining": "Fo\u0308recast.",
    "variation": "Forecast\ufe0f.",
    "private": "Forecast\ue000.",
    "no-break space": "Forecast\u00a0.",
    "line separator": "Fore\u2028cast.",
    "escape": "Fore\x1b[2Kcast.",
    "written escape": "Fore\\u200bcast.",
    "delete": "Fore\x7fcast.",
    "mathematical": "\U0001d5d9orecast.",
    "number one": "Forecast1.",
    "spaces": "Forecast .",
}


def read_back(rendered: str) -> Snapshot:
    """The contract that a rendering shows."""
    return snapshot({**json.loads(rendered), "captured_at": TIME})


def described(text: str) -> Snapshot:
    """A contract with this text in it."""
    return taken(edited(lambda value: value["tools"][0].update(description=text)))


@pytest.mark.promise("ahead 3")
@pytest.mark.parametrize("trick", TRICKS)
def test_rendering_reads_back_to_the_digest(trick: str) -> None:
    found = described(TRICKS[trick])
    shown = render(found)
    assert read_back(shown).digest == found.digest
    assert_plain(shown)


@pytest.mark.promise("ahead 3")
def test_no_two_contracts_render_alike() -> None:
    looks = {name: look(render(described(text))) for name, text in TRICKS.items()}
    looks["plain"] = look(render(described("Forecast.")))
    assert len(set(looks.values())) == len(looks)


def assert_plain(shown: str) -> None:
    """Nothing in the text moves a cursor, combines, hides, or looks like another character."""
    for character in shown.replace("\n", ""):
        assert character.isascii() or prototype(character) == character, hex(ord(character))
        assert unicodedata.category(character)[0] in "LNPSZ"
        assert character.isascii() or unicodedata.category(character)[0] != "Z"


def look(shown: str) -> str:
    """What a text looks like: each character by the one that all which look like it share."""
    return "".join(
        character if character.isascii() else prototype(character)
        for character in unicodedata.normalize("NFC", shown)
    )


TEXT = st.text(
    st.characters(codec="utf-8", exclude_categories=["Cs"])
    | st.sampled_from('a\u200b\u202e\U000e0041\\"u0041\n\u0308\uff21\u0430\u043e\u03bf'),
    max_size=12,
)


@pytest.mark.promise("ahead 3")
@given(one=TEXT, other=TEXT)
def test_any_text_reads_back_and_two_of_them_look_different(one: str, other: str) -> None:
    sides = [described(text) for text in (one, other)]
    shown = [render(side) for side in sides]
    for side, text in zip(sides, shown, strict=True):
        assert read_back(text).digest == side.digest
        assert_plain(text)
    assert (look(shown[0]) == look(shown[1])) == (sides[0].digest == sides[1].digest)


@given(
    value=st.recursive(
        st.none()
        | st.booleans()
        | st.integers(-(2**53) + 1, 2**53 - 1)
        | st.floats(-1e9, 1e9)
        | TEXT,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
        max_leaves=6,
    )
)
def test_any_member_is_part_of_what_is_shown(value: Any) -> None:
    found = taken(edited(lambda whole: whole["tools"][0].update(_meta={"x": value})))
    assert read_back(render(found)).digest == found.digest


@pytest.mark.promise("ahead 3")
@pytest.mark.parametrize("trick", TRICKS)
def test_difference_that_is_shown_makes_the_one_of_the_other(trick: str, tmp_path: Path) -> None:
    old, new = taken(capture()), described(TRICKS[trick])
    file = tmp_path / "contract.json"
    file.write_text(render(old))
    patch = difference(old, new).replace("--- committed", f"--- a/{file.name}", 1)
    patch = patch.replace("+++ candidate", f"+++ b/{file.name}", 1)
    subprocess.run(["git", "apply"], cwd=tmp_path, input=patch.encode(), check=True)
    assert read_back(file.read_text()).digest == new.digest


def test_first_contract_is_shown_whole() -> None:
    found = taken(capture(FORECAST, STATIONS))
    assert difference(None, found) == render(found)
