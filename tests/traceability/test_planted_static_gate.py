"""One fault planted in each part of the static gate: a file of its corpus turns red."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import pytest

from tipstaff.evidence import python_names, python_source
from tipstaff.evidence.static_calls import Calls
from tipstaff.evidence.static_handing import Handing
from tipstaff.evidence.static_names import StaticNames
from traceability.test_planted_faults import TESTS, Plant, python
from traceability.test_planted_reliability import demand_red

CORPUS = "evidence/test_static_gate_corpus.py"
EVASION = "test_evasion_shows_what_it_does"
INNOCENT = "test_innocent_file_shows_nothing_to_fear"
GATE = "tipstaff.evidence.static_python"
TABLES = "tipstaff.evidence.static_tables"
NOTHING: frozenset[str] = frozenset()

_parse = python_source.parse


def as_spelt(text: str) -> ast.Module:
    """A reader that takes names as they are spelt, where Python takes their normal form."""
    tree = _parse(text)
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            node.id = ast.get_source_segment(text, node) or node.id
    return tree


FAULTS: dict[str, tuple[Plant, str, str]] = {
    "names stand for nothing else": (
        python(StaticNames, "_origins_held", lambda *_: NOTHING),
        EVASION,
        "evasions/alias_of_module",
    ),
    "getattr is a function like any other": (
        python("tipstaff.evidence.static_calls", "GETTERS", NOTHING),
        EVASION,
        "evasions/getattr_on_an_unknown_object",
    ),
    "getattr gives nothing": (
        python("tipstaff.evidence.python_origins", "GETTERS", NOTHING),
        EVASION,
        "evasions/getattr_of_glued_text",
    ),
    "names are taken as they are spelt": (
        python(python_source, "parse", as_spelt),
        EVASION,
        "evasions/nfkc_builtin",
    ),
    "bytes are UTF-8, whatever they declare": (
        python(python_source, "decode", lambda data: data.decode("utf-8", "replace")),
        EVASION,
        "evasions/coding_utf_7_after_carriage_return",
    ),
    "what parses is sound": (
        python(GATE, "_compile", lambda _tree: None),
        EVASION,
        "evasions/return_outside_a_function",
    ),
    "star imports bind nothing": (
        python(StaticNames, "_import", python_names.Names._import),
        EVASION,
        "evasions/star_import_of_a_stranger",
    ),
    "modules hold no modules": (
        python("tipstaff.evidence.static_names", "canonical", lambda origin: origin),
        EVASION,
        "evasions/module_with_an_underscore",
    ),
    "modules may be handed on": (
        python(Handing, "escaping", lambda *_: []),
        EVASION,
        "evasions/module_handed_to_a_function",
    ),
    "no attribute is a door": (
        python(TABLES, "DOORS", NOTHING),
        EVASION,
        "evasions/code_replaced",
    ),
    "nothing of the library runs text": (
        python(TABLES, "REACHES", NOTHING),
        EVASION,
        "evasions/members_by_place",
    ),
    "code in a text is text": (
        python(Calls, "_run", lambda *_: None),
        EVASION,
        "evasions/eval_sees_the_names_around_it",
    ),
    "the names of the text are not looked up": (
        python(TABLES, "SCOPES", NOTHING),
        EVASION,
        "evasions/globals_subscript",
    ),
    "local names are everybody's": (
        python(GATE, "Scopes", lambda _tree: type("All", (), {"class_names": set()})),
        INNOCENT,
        "innocent/parameters_named_like_builtins",
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_planted_fault_turns_a_file_of_the_corpus_red(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, fault: str
) -> None:
    plant, name, file = FAULTS[fault]
    given: dict[str, Any] = {"path": TESTS / "evidence" / "static_gate" / f"{file}.txt"}
    plant(monkeypatch, tmp_path)
    demand_red(CORPUS, name, given)
