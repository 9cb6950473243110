"""A check that cannot fail proves nothing: a fault planted in collection, transfer or the suite turns a test red."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from support.leaky import LeakyBackend
from support.sandboxes import strict
from tipstaff.sandbox import collection, selection, transfer
from tipstaff.sandbox.collection import Collected
from tipstaff.sandbox.escape import cases, suite, traps
from traceability.test_planted_faults import module

COLLECTION = "sandbox/test_collection.py"


def careless(folder: int, names: Any, *, root: str) -> Collected:
    """A collection that joins paths as they are, as most do."""
    found: dict[str, bytes] = {}
    for name in names:
        try:
            found[name] = Path(f"/proc/self/fd/{folder}/{name.removeprefix(root)}").read_bytes()
        except (OSError, ValueError):
            continue
    return Collected(found)


def following(folder: int, parts: tuple[str, ...]) -> int:
    """An opening beneath the folder that follows links."""
    try:
        return os.open("/".join(parts) or ".", os.O_RDONLY | os.O_NONBLOCK, dir_fd=folder)
    except OSError as error:
        raise collection.Refusal(str(error)) from error


FAULTS: dict[str, tuple[Callable[[pytest.MonkeyPatch, Any], None], str, dict[str, Any]]] = {
    "links are followed": (
        lambda patch, _: patch.setattr(collection, "_open", following),
        "test_of_a_hostile_tree_only_plain_files_are_taken_and_each_refusal_says_why",
        {"way": "openat2"},
    ),
    "folders are entered through links": (
        lambda patch, _: patch.setattr(collection, "_open", following),
        "test_a_file_behind_a_linked_folder_is_refused",
        {"way": "openat2"},
    ),
    "look and open are two": (
        lambda patch, _: patch.setattr(collection, "_open", following),
        "test_no_swap_between_look_and_open_leads_out",
        {"way": "openat2"},
    ),
    "paths are joined as they are": (
        lambda patch, tests: patch.setattr(tests, "take", careless),
        "test_no_spelling_of_a_path_leads_out",
        {"way": "openat2"},
    ),
}


@pytest.mark.promise("T2", "BR-28")
@pytest.mark.parametrize("fault", FAULTS)
def test_fault_in_collection_turns_a_test_red(
    fault: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plant, name, given = FAULTS[fault]
    tests = module(COLLECTION)
    (tmp_path / "secret").write_bytes(tests.SECRET)
    (tmp_path / "scratch").mkdir()
    plant(monkeypatch, tests)
    with pytest.raises(AssertionError):
        getattr(tests, name)(**given, scratch=tmp_path / "scratch")


@pytest.mark.promise("BR-28")
def test_caps_that_are_not_kept_turn_a_test_red(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tests = module(COLLECTION)
    monkeypatch.setattr(collection.Basket, "claim", lambda self, name: None)
    with pytest.raises(AssertionError):
        tests.test_counts_and_sizes_are_capped_while_reading(tmp_path, monkeypatch)


@pytest.mark.promise("X8", "row 104")
def test_output_written_into_place_turns_a_test_red(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def in_place(files: dict[str, bytes], folder: Path) -> dict[str, Path]:
        for name, data in files.items():
            target = folder.absolute().parent / Path(name).relative_to("/scratch/out")
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(data)
        return {}

    tests = module("cli/test_sandbox_verbs.py")
    monkeypatch.setattr(transfer, "deliver", in_place)
    folder = tests.with_script(tmp_path / "in")
    with pytest.raises(AssertionError):
        tests.test_what_is_handed_back_is_neither_a_program_nor_in_a_place_that_runs_it(folder)


@pytest.mark.promise("X10")
def test_a_backend_that_is_gone_fails_where_it_is_expected(monkeypatch: pytest.MonkeyPatch) -> None:
    tests = module("sandbox/test_escape_matrix.py")
    monkeypatch.setattr(selection.Kind, "programs", lambda self: ())
    monkeypatch.setenv("CI", "true")
    for name in ("bubblewrap", "nsjail", "gvisor"):
        with pytest.raises(pytest.fail.Exception):
            tests.test_a_part_of_the_suite_finds_no_way_out(name, "terminal")


@pytest.mark.promise("X1", "X4", "X5", "X8", "X9", "ahead 15")
@pytest.mark.promise("row 96", "row 97", "row 98", "row 100", "row 103")
@pytest.mark.parametrize("part", ["network", "terminal", "processes", "disclosure", "routes"])
def test_a_leaky_backend_turns_the_matrix_red(part: str, monkeypatch: pytest.MonkeyPatch) -> None:
    tests = module("sandbox/test_escape_matrix.py")
    monkeypatch.setattr(tests, "present", lambda name: LeakyBackend())
    with pytest.raises(AssertionError):
        tests.test_a_part_of_the_suite_finds_no_way_out("bubblewrap", part)


@pytest.mark.promise("ahead 15")
@pytest.mark.parametrize(
    ("owner", "name", "value"),
    [
        (suite, "_evidence", lambda group, *_: {case.id: [] for case in group}),
        (traps, "_came", lambda look, words: []),
    ],
)
def test_a_host_that_looks_away_turns_the_tests_of_leaks_red(
    owner: Any, name: str, value: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    tests = module("sandbox/test_escape_teeth.py")
    monkeypatch.setattr(owner, name, value)
    with pytest.raises(AssertionError):
        tests.test_each_kind_of_evidence_is_seen_alone("listener", monkeypatch)


def test_programs_that_are_gone_leave_nothing_judged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    empty = tmp_path / "programs"
    shutil.copytree(cases.folder(), empty)
    (empty / "runner.py").write_text("")
    chosen = cases.chosen(("terminal",))
    monkeypatch.setattr(cases, "folder", lambda: empty)
    outcomes = {f.outcome for f in suite.run(LeakyBackend(), strict(), chosen)}
    assert outcomes == {"unjudged"}
