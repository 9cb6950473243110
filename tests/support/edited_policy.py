"""A copy of the shipped policy folder with edits, which is then built, signed and served like the shipped one."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from tipstaff import declared

Edit = Callable[[Any], None]


def put_in_place(folder: Path, patch: pytest.MonkeyPatch) -> None:
    """Let this folder be the policy folder; no Python changes."""
    usual = declared.folder
    patch.setattr(declared, "folder", lambda name: folder if name == "policy" else usual(name))


def edit_data(target: Path, edits: Mapping[str, Edit]) -> Path:
    """Copy the policy folder and edit the ``data.json`` of some packages; returns the copy."""
    shutil.copytree(declared.folder("policy"), target)
    for package, edit in edits.items():
        file = target / "tipstaff" / package / "data.json"
        value = json.loads(file.read_text())
        edit(value)
        file.write_text(json.dumps(value))
    return target


def edit_rego(target: Path, file: str, before: str, after: str) -> Path:
    """Copy the policy folder and replace a text that stands once in one file; returns the copy."""
    shutil.copytree(declared.folder("policy"), target)
    path = target / "tipstaff" / file
    text = path.read_text()
    assert text.count(before) == 1, f"{file} holds the text {text.count(before)} times"
    path.write_text(text.replace(before, after))
    return target
