"""The figures of contracts: mutants of one field, other spellings, and names that pass for others."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Callable

import pytest

from support.contract_mutants import MUTATIONS, SPELLINGS, Json, mutants, rewrites
from support.contracts import STATIONS, capture, kinds, taken
from support.figures import dice, figure
from tipstaff.documents.contract import Snapshot
from tipstaff.drift import tools as reading
from tipstaff.drift.diff import diff
from tipstaff.drift.sight import first_sight

Record = Callable[[str, object], None]
REWRITE = "equivalent_rewrite"


def missed(pairs: list[tuple[str, Json, Json]]) -> Counter[str]:
    """The ways in which a contract changed and no finding names what, or the digest is the same."""
    found: Counter[str] = Counter()
    for name, old, new in pairs:
        before, after = taken(old), taken(new)
        named = [
            change
            for change in diff(before, after)
            if change.facts["about"] != "unknown" or change.path
        ]
        if before.digest == after.digest or not kinds(named) - {REWRITE}:
            found[name] += 1
    return found


def alarms(pairs: list[tuple[str, Json, Json]]) -> Counter[str]:
    """The spellings that are taken for a change."""
    found: Counter[str] = Counter()
    for name, old, new in pairs:
        before, after = taken(old), taken(new)
        changes = diff(before, after)
        assert bool(changes) == (before.digest != after.digest), name
        if kinds(changes) - {REWRITE}:
            found[name] += 1
    return found


@pytest.mark.promise("M1", "BR-02", "BR-03", "row 108")
@figure("count", commit=2 * len(MUTATIONS), full=2_000)
def test_every_mutant_of_one_field_is_drift(count: int, record_property: Record) -> None:
    assert missed(mutants(dice(), count)) == {}
    record_property("M1", f"{count} mutants of one field over 40 tools, all found")


@pytest.mark.promise("M1", "BR-07")
@figure("count", commit=2 * len(SPELLINGS), full=1_000)
def test_no_other_spelling_is_drift(count: int, record_property: Record) -> None:
    assert alarms(rewrites(dice(), count)) == {}
    record_property("M1", f"{count} other spellings, no alarm")


@pytest.mark.promise("M1", "BR-03")
@pytest.mark.parametrize("blind", ["description", "_meta", "annotations", "outputSchema"])
def test_reader_that_is_blind_to_a_member_is_caught(
    blind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    seeing = reading.compare_tools

    def without(tool: Json) -> Json:
        return {key: value for key, value in tool.items() if key != blind}

    monkeypatch.setattr(
        "tipstaff.drift.diff.compare_tools",
        lambda old, new: seeing(without(old), without(new)),
    )
    assert missed(mutants(dice(), len(MUTATIONS)))


def disguises(name: str) -> list[str]:
    """Names that look like one, made by Unicode's own names of characters and not by any table of ours."""
    letters = [at for at, letter in enumerate(name) if letter.isascii() and letter.isalpha()]
    cyrillic = {"a": "CYRILLIC SMALL LETTER A", "e": "CYRILLIC SMALL LETTER IE",
                "o": "CYRILLIC SMALL LETTER O", "p": "CYRILLIC SMALL LETTER ER",
                "c": "CYRILLIC SMALL LETTER ES", "i": "CYRILLIC SMALL LETTER BYELORUSSIAN-UKRAINIAN I",
                "s": "CYRILLIC SMALL LETTER DZE", "j": "CYRILLIC SMALL LETTER JE"}  # fmt: skip
    found = [name.upper(), name.title(), name.replace("_", "-"), name.replace("_", " "),
             name.replace("_", ""), f"{name} ", f" {name}", name.replace("_", "__"),
             name.replace("_", ".")]  # fmt: skip
    for mark in "\u200b\u200c\u200d\u2060\ufeff\u00ad\u202e\u202c\ufe0f\U000e0041\u034f":
        found += [f"{name}{mark}", name[:3] + mark + name[3:]]
    for at in letters:
        letter = name[at]
        capital = f"MATHEMATICAL SANS-SERIF SMALL {letter.upper()}"
        wide = f"FULLWIDTH LATIN SMALL LETTER {letter.upper()}"
        for other in (capital, wide, cyrillic.get(letter)):
            if other:
                found.append(name[:at] + unicodedata.lookup(other) + name[at + 1 :])
    return sorted({one for one in found if one != name})


BASES = [
    "list_stations",
    "get_forecast",
    "send_payment",
    "read_file",
    "create_issue",
    "search_nodes",
    "copy_object",
    "approve_request",
]


@pytest.mark.promise("M3", "BR-06", "row 111")
@figure("count", commit=60, full=300)
def test_every_look_alike_is_found_beside_another_server(
    count: int, record_property: Record
) -> None:
    pairs = [(base, name) for base in BASES for name in disguises(base)]
    chosen = dice().sample(pairs, count)
    unseen = []
    for base, name in chosen:
        theirs = taken(capture({**STATIONS, "name": base}), "trusted")
        ours: Snapshot = taken(capture({**STATIONS, "name": name}), "other")
        if "name_confusable" not in kinds(first_sight(ours, [theirs])):
            unseen.append(ascii(name))
    assert unseen == []
    record_property("M3", f"{count} look-alikes, all found")
