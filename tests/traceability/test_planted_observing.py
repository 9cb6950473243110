"""One fault planted against each promise about live servers: a test of the promise turns red."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from tipstaff import declared
from tipstaff.drift.observing import limits
from traceability.test_planted_faults import Plant, python
from traceability.test_planted_reliability import demand_red

HOSTILE = "drift/test_hostile_servers.py"
WAY = "test_server_that_misbehaves_is_an_error_of_its_own"
REAL = declared.folder


def driver(file: str, before: str, after: str) -> Plant:
    """A text of the driver or its limits replaced, in a copy of the folder that takes its place."""

    def plant(patch: pytest.MonkeyPatch, tmp: Path) -> None:
        copy = tmp / "sandbox"
        shutil.copytree(REAL("sandbox"), copy)
        text = (copy / limits.FOLDER / file).read_text(encoding="utf-8")
        assert before in text
        (copy / limits.FOLDER / file).write_text(text.replace(before, after), encoding="utf-8")
        patch.setattr(declared, "folder", lambda name: copy if name == "sandbox" else REAL(name))
        patch.setattr(limits, "load", limits.load.__wrapped__)
        for folder in (
            tmp,
            *tmp.parents[:2],
        ):  # whoever runs it as root has a driver that nobody can read
            folder.chmod(0o755)

    return plant


FAULTS: dict[str, tuple[Plant, str, dict[str, Any]]] = {
    "BR-01: the first page is the list": (
        driver("session.py", "            if cursor is None:\n", "            if True:\n"),
        "test_every_page_is_in_the_snapshot",
        {},
    ),
    "BR-01: an error ends a list": (
        driver(
            "session.py",
            "        if pages or code != NO_SUCH_METHOD",
            "        if pages:\n            return True\n        if code != NO_SUCH_METHOD",
        ),
        WAY,
        {"way": "second-page-error"},
    ),
    "M4: a message has no end": (
        driver("limits.yaml", "message_bytes: 1048576", "message_bytes: 1048576000"),
        WAY,
        {"way": "huge"},
    ),
    "row 114: lists have no end": (
        driver("limits.yaml", "entries: 5000", "entries: 50000"),
        WAY,
        {"way": "many"},
    ),
    "row 110: the first list counts": (
        python("tipstaff.drift.observing.observe", "demand_steady", lambda *_: None),
        WAY,
        {"way": "per-connection"},
    ),
    "M2: what is listed now is not looked at": (
        driver(
            "session.py",
            "    if len(named) != 1:",
            "    return None\n    if len(named) != 1:",
        ),
        "test_call_is_refused_where_the_tool_is_another_one_now",
        {},
    ),
    "row 116: one program is like another": (
        python("tipstaff.drift.observing.origin", "_content", lambda path: "0" * 64),
        "test_program_that_changed_under_the_same_name_is_another_contract",
        {},
    ),
    "ahead 16: nobody watches": (
        driver("watch.py", "        if self.calls is None:", "        if True:"),
        "test_hostile_server_leaves_no_trace_and_is_reported",
        {"backend": "bubblewrap"},
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_planted_fault_turns_a_test_of_the_promise_red(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, fault: str
) -> None:
    plant, name, values = FAULTS[fault]
    given: dict[str, Any] = {"tmp_path": tmp_path, "monkeypatch": monkeypatch, **values}
    plant(monkeypatch, tmp_path)
    demand_red(HOSTILE, name, given)


def test_value_of_a_header_that_is_not_looked_for_is_noticed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    driver("tape.py", "if holds(data, value):", "if False:")(monkeypatch, tmp_path)
    name = "test_value_of_a_header_that_comes_back_is_in_nothing_that_is_left"
    given = {"tmp_path": tmp_path, "monkeypatch": monkeypatch, "way": "echo"}
    demand_red("drift/test_echoed_headers.py", name, given)
