"""One fault planted against each promise about contracts: a test of the promise turns red."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from support.edited_policy import edit_data, put_in_place
from tipstaff.documents import strict_json
from tipstaff.documents.contract import Snapshot
from traceability.test_planted_faults import Plant, module, python
from traceability.test_planted_reliability import demand_red

KINDS, SIGHT = "drift/test_kinds.py", "drift/test_first_sight.py"
EDIT = "test_edit_is_one_change_of_its_kind"


def graded_low(patch: pytest.MonkeyPatch, tmp: Path) -> None:
    """A policy that takes every change of an annotation for a label."""
    label = {"if": {}, "severity": "info", "authority": "none"}

    def regrade(data: Any) -> None:
        data["cases"]["annotation_changed"] = [label]

    put_in_place(edit_data(tmp / "policy", {"contract": regrade}), patch)


def of_the_tools(snapshot: Snapshot) -> str:
    """A digest of nothing but the tools."""
    return strict_json.digest({"tools": snapshot.tools}, domain="planted")


FAULTS: dict[str, tuple[Plant, str, str, dict[str, Any]]] = {
    "M1: descriptions are no words": (
        python("tipstaff.drift.tools", "_WORDS", {"title": "title_changed"}),
        KINDS,
        EDIT,
        {"name": "a tool's description"},
    ),
    "BR-02: listed values are not compared": (
        python("tipstaff.drift.words", "_values", lambda *_: None),
        KINDS,
        EDIT,
        {"name": "a listed value more"},
    ),
    "BR-02: nothing below the parameters is compared": (
        python("tipstaff.drift.properties", "_kept", lambda *_: None),
        KINDS,
        EDIT,
        {"name": "a nested type"},
    ),
    "BR-03: the digest is of the tools alone": (
        python(Snapshot, "digest", property(of_the_tools)),
        "drift/test_snapshots.py",
        "test_digest_covers_each_member",
        {"member": "instructions"},
    ),
    "BR-06: no character hides anything": (
        python("tipstaff.drift.hidden", "_CLASSES", ()),
        SIGHT,
        "test_hidden_text_is_found_wherever_it_stands",
        {"name": "tag"},
    ),
    "BR-07: what has no effect counts": (
        python("tipstaff.drift.keywords", "_NO_EFFECT", {}),
        "drift/test_equivalents.py",
        "test_two_spellings_of_a_parameter_mean_the_same",
        {"name": "names that are strings"},
    ),
    "BR-08: nothing is renamed": (
        python("tipstaff.drift.diff", "renamed_tools", lambda *_: []),
        KINDS,
        EDIT,
        {"name": "a tool renamed"},
    ),
    "BR-09, row 113: hints are labels": (
        graded_low,
        "cli/test_contracts.py",
        "test_hint_that_lowers_caution_widens_authority",
        {},
    ),
    "M3: each character looks like itself": (
        python("tipstaff.drift.confusion", "prototype", lambda character: character),
        SIGHT,
        "test_name_that_looks_like_another_servers_is_found",
        {"name": "list_st\u0430tions"},
    ),
    "row 108: words and metadata of a tool are not read": (
        python("tipstaff.drift.tools", "_members", lambda *_: iter(())),
        "drift/test_figures.py",
        "test_every_mutant_of_one_field_is_drift",
        {"count": 80, "record_property": lambda *_: None},
    ),
    "row 111: names of other servers are no matter": (
        python("tipstaff.drift.sight", "_beside", lambda *_: []),
        "drift/test_figures.py",
        "test_every_look_alike_is_found_beside_another_server",
        {"count": 10, "record_property": lambda *_: None},
    ),
    "row 112: comments are shown to everybody": (
        python("tipstaff.drift.sight", "classes_in", lambda *_, **__: {}),
        SIGHT,
        "test_hidden_text_is_found_outside_the_tools",
        {"members": {"instructions": "a\u200bb"}},
    ),
    "ahead 1: another spelling is drift": (
        python("tipstaff.drift.shapes", "joined", lambda branches: branches[:1]),
        "drift/test_equivalents.py",
        "test_two_spellings_of_a_parameter_mean_the_same",
        {"name": "types as choices"},
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_planted_fault_turns_a_test_of_the_promise_red(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, request: pytest.FixtureRequest, fault: str
) -> None:
    plant, path, name, values = FAULTS[fault]
    given: dict[str, Any] = {"tmp_path": tmp_path, "monkeypatch": monkeypatch, **values}
    if path.startswith("cli/"):
        folder = tmp_path / "captures"
        folder.mkdir()
        scene = module(path)
        given["contracts"] = scene.Contracts(request.getfixturevalue("workshop"), folder)
    plant(monkeypatch, tmp_path)
    demand_red(path, name, given)
