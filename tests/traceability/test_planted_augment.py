"""One fault planted against each promise about scripts in place of prose: a test of the promise turns red."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from support.augment_scene import AugmentScene
from support.workshop import Workshop
from tipstaff.healing.augment import proposal, recording, runs
from tipstaff.healing.augment.blocks import Block
from traceability.test_planted_faults import Plant, module, python, rego

AUGMENT, RUNS = "healing/test_augment.py", "healing/test_script_runs.py"

# Fault: how it is planted, and the test that it turns red, with its values.
FAULTS: dict[str, tuple[Plant, str, str, dict[str, Any]]] = {
    "A-01: what is refused anyway is measured all the same": (
        python(proposal._Augmentation, "_terms", lambda *_: {"runs": 8, "measure": True}),
        AUGMENT,
        "test_block_that_does_not_qualify_is_refused_and_nothing_runs",
        {"before": "=0.90", "after": "=0.74", "code": "augment.confidence"},
    ),
    "A-02: an output that is not expected passes": (
        rego("augment/measured.rego", "output != measured.expected_sha256", "output == null"),
        AUGMENT,
        "test_script_that_fails_one_golden_case_is_not_proposed",
        {},
    ),
    "A-02: the runs see what is expected": (
        python(runs, "shutil", SimpleNamespace(rmtree=lambda *_, **__: None)),
        RUNS,
        "test_runs_see_the_skill_and_no_golden_case_of_it",
        {},
    ),
    "A-03: each run is under the same conditions": (
        python(runs, "_groups", lambda number, **_: [(0, number)]),
        RUNS,
        "test_output_that_depends_on_more_than_the_input_differs",
        {"source": "the locale"},
    ),
    "A-03: a failed run counts by what it printed": (
        python(runs, "_digest", lambda result: "00" * 32),
        RUNS,
        "test_run_without_a_whole_output_has_none",
        {"how": "ends with an error"},
    ),
    "A-03: a recording is believed": (
        python(recording, "_demand_same", lambda *_: None),
        "healing/test_augment_input.py",
        "test_recording_that_does_not_fit_is_refused",
        {"slip": "a digest of another output"},
    ),
    "A-03: variance is not compared": (
        rego("augment/measured.rego", "not _varies_no_more(measured)", "measured.name == null"),
        AUGMENT,
        "test_script_that_varies_more_than_the_prose_is_not_proposed",
        {},
    ),
    "A-04: any saving will do": (
        rego("augment/augment.rego", "\tnot _is_shorter\n", "\t_facts.tokens.before < 0\n"),
        AUGMENT,
        "test_prose_that_is_hardly_longer_than_a_call_is_not_replaced",
        {},
    ),
    "A-07: text around the block is not looked at": (
        python(Block, "outside_sha256", "00" * 32),
        "healing/test_marked_blocks.py",
        "test_text_around_the_block_is_compared_byte_for_byte",
        {"change": lambda text: text.replace("friendly ", ""), "same": False},
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_planted_fault_turns_a_test_red(
    workshop: Workshop, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, fault: str
) -> None:
    plant, path, name, values = FAULTS[fault]
    monkeypatch.setattr(runs, "_APART_S", 0.0)
    given: dict[str, Any] = {
        "workshop": workshop,
        "monkeypatch": monkeypatch,
        "tmp_path": tmp_path / "own",
    }
    given["tmp_path"].mkdir()
    test = getattr(module(path), name)
    wanted = test.__code__.co_varnames[: test.__code__.co_argcount]
    if "scene" in wanted:
        given["scene"] = AugmentScene.set(workshop, tmp_path / "outside")
    if "ran" in wanted:
        given["ran"] = seen_runs(monkeypatch)
    plant(monkeypatch, tmp_path)
    with pytest.raises((AssertionError, pytest.fail.Exception)):
        test(**{key: given[key] for key in wanted if key in given}, **values)


def seen_runs(patch: pytest.MonkeyPatch) -> list[Any]:
    """Everything that is measured from here on."""
    seen: list[Any] = []
    usual = runs.measure

    def measure(*arguments: Any, **more: Any) -> Any:
        seen.append(arguments)
        return usual(*arguments, **more)

    patch.setattr(runs, "measure", measure)
    return seen
