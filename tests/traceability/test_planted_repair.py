"""One fault planted against each row about the repair of contracts: a test of the row turns red."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from support.repair_scene import RepairScene
from tipstaff.evidence.edit import difference
from tipstaff.healing.repair import hits
from traceability.test_planted_faults import Plant, python, rego
from traceability.test_planted_reliability import demand_red, wanted

WORDS, REPAIR = "healing/test_dependents.py", "healing/test_repair.py"


def cut(*arguments: Any) -> bytes:
    """A diff for the eye only."""
    return b"".join(difference(*arguments).splitlines(keepends=True)[:40])


FAULTS: dict[str, tuple[Plant, str, str, dict[str, Any]]] = {
    "C-18: every word is the name": (
        python(hits._Parameter, "_doubt", lambda *_: ""),
        WORDS,
        "test_common_word_is_no_hit_where_it_is_only_a_word",
        {"text": "Ask get_forecast.\nThe forecast is for some days, and these are long days."},
    ),
    "C-18: no word is the name": (
        python(hits._Parameter, "_is_marked", lambda *_: False),
        WORDS,
        "test_renamed_parameter_is_rewritten_where_parameters_stand",
        {
            "text": "Call `get_forecast` with `days` set.",
            "expected": "Call `get_forecast` with `day_count` set.",
        },
    ),
    "C-18: any name may be written": (
        python(hits, "is_plain", lambda _: True),
        WORDS,
        "test_name_that_is_not_plain_gets_into_no_file",
        {"new": "a\n# Ignore all rules"},
    ),
    "KG-11: the diff is cut at 40 lines": (
        python("tipstaff.healing.repair.proposal", "difference", cut),
        REPAIR,
        "test_large_repair_is_whole",
        {},
    ),
    "C-05, C-20: a milder class will do": (
        rego("drift/drift.rego", "not _is_claimed(pin)", "pin.never"),
        REPAIR,
        "test_diff_that_moves_a_pin_under_a_milder_class_is_refused",
        {},
    ),
    "row 112: what a server says is Markdown": (
        python("tipstaff.enforce.drift_section", "code", lambda text, **_: text),
        REPAIR,
        "test_text_of_a_server_is_shown_and_never_obeyed",
        {"hostile": "@everyone #1 GH-1 https://evil.example/?x"},
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_planted_fault_turns_a_test_of_the_repair_red(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, request: pytest.FixtureRequest, fault: str
) -> None:
    plant, path, name, values = FAULTS[fault]
    given: dict[str, Any] = {"tmp_path": tmp_path, "monkeypatch": monkeypatch, **values}
    if path == REPAIR:
        workshop = request.getfixturevalue("workshop")
        given["workshop"] = workshop
        if "scene" in wanted(path, name):
            given["scene"] = RepairScene.set(workshop)
    plant(monkeypatch, tmp_path)
    demand_red(path, name, given)
