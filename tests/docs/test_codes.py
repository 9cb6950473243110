"""One registry of codes: what Python raises, what Rego says and what the documents list are the same strings."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

import pytest

from support.readme import README, ROOT
from support.rego import annotations
from tipstaff.documents.codes import CODES, ERRORS
from tipstaff.pdp.opa import Opa

SOURCE = ROOT / "cmd" / "tipstaff"
REGISTRY = SOURCE / "documents" / "codes.py"
_CODE = re.compile(r"[a-z]+\.[a-z_]+\Z")
_FAMILIES = {code.partition(".")[0] for code in (*ERRORS, *CODES) if "." in code}
# Names of files and of settings that look like codes of these families.
_FILE = re.compile(r"\.(?:json|lock|log|pem|sock)\Z")
_SETTINGS = {
    "modification.modification_id",
    "policy.public_key",
    "policy.public_keys",
    "sandbox.profile",
}


def strings() -> Iterator[tuple[str, str]]:
    """Each string of the package outside the registry, and where it stands."""
    for file in sorted(set(SOURCE.rglob("*.py")) - {REGISTRY}):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield node.value, f"{file.name}:{node.lineno}"


def raised() -> Iterator[tuple[str, str]]:
    """The code of each error that is made with a plain string, and where."""
    for file in sorted(SOURCE.rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
                continue
            first = node.args[0] if node.args else None
            is_error = node.func.id.endswith("Error") or node.func.id == "ActionDenied"
            if is_error and isinstance(first, ast.Constant) and _CODE.match(str(first.value)):
                yield str(first.value), f"{file.name}:{node.lineno}"


def test_every_code_in_python_is_registered() -> None:
    used = [*raised(), *(said for said in strings() if said[0].partition(".")[0] in _FAMILIES)]
    codes = {code: place for code, place in used if _CODE.match(code) and not _FILE.search(code)}
    assert len(codes) > 100
    known = {*ERRORS, *CODES, *_SETTINGS}
    assert {code: place for code, place in codes.items() if code not in known} == {}


def test_every_registered_code_is_used() -> None:
    said = {value for value, _ in strings()}
    assert [code for code in (*ERRORS, *CODES) if code not in said] == []


def test_no_code_has_two_entries() -> None:
    assert set(ERRORS) & set(CODES) == set()


def test_every_code_in_the_documents_exists(opa: Opa) -> None:
    given = {note["annotations"].get("custom", {}).get("code") for note in annotations(opa)}
    known = {*ERRORS, *CODES, *filter(None, given)}
    table = (
        README.read_text(encoding="utf-8").partition("## When it fails")[2].partition("\n## ")[0]
    )
    listed = {code for row in _rows(table) for code in re.findall(r"`([a-z]+\.[a-z_]+)`", row)}
    assert len(listed) > 20
    assert sorted(listed - known) == []


@pytest.mark.parametrize("code", [*ERRORS, *CODES])
def test_every_code_is_documented_once(code: str) -> None:
    page = "contracts/errors.md" if code in ERRORS else "policy/README.md"
    text = (ROOT / page).read_text(encoding="utf-8")
    assert len(re.findall(rf"^\| `{re.escape(code)}` \|", text, re.MULTILINE)) == 1


def _rows(table: str) -> list[str]:
    return [line.split("|")[1] for line in table.splitlines() if line.startswith("| `")]
