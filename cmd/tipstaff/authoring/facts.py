"""What OPA says of a policy folder: syntax trees, annotations, complaints of its compiler, and what is not formatted.

Nothing here judges it; ``tipstaff.conventions`` does.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tipstaff import declared
from tipstaff.documents.base import Json
from tipstaff.documents.codes import CODES
from tipstaff.documents.text import visible
from tipstaff.errors import ContractError
from tipstaff.pdp import source
from tipstaff.pdp.capabilities import FILE as CAPABILITIES
from tipstaff.pdp.opa import Opa
from tipstaff.pdp.source import OVERLAY
from tipstaff.pdp.syntax import errors, invalid, parse

_COMPLAINTS = "1000"


@dataclass(frozen=True)
class Folder:
    """A policy folder, the one root that it claims, and the folder that shown names of files are relative to."""

    path: Path
    root: str
    base: Path

    def shown(self, file: str) -> str:
        """A file's name, given relative to the folder, as people and waivers name it."""
        return Path(os.path.relpath(self.path / file, self.base)).as_posix()


def gather(opa: Opa, folder: Folder) -> Json:
    """The input of ``tipstaff.conventions``.

    Raises ``ContractError``: ``policy.invalid`` with OPA's file and line for Rego that does not parse.
    """
    source.read(folder.path, folder.root)
    names = _rego(folder.path)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        trees = list(
            pool.map(
                lambda name: _slim(parse(opa, folder.path, name, shown=folder.shown(name))), names
            )
        )
    loose = _unformatted(opa, folder)
    files = [
        _file(folder, name, tree, _first_change(opa, folder, name) if name in loose else None)
        for name, tree in zip(names, trees, strict=True)
    ]
    return {
        "root": folder.root,
        "files": files,
        "annotations": _annotations(opa, folder, files),
        "complaints": _complaints(opa, folder),
        "taken": list(CODES),
    }


def notes(opa: Opa, folder: Folder) -> list[Json]:
    """Each annotation: shown file, row, path without ``data``, and what is noted."""
    answer = opa.run(["inspect", "--annotations", "--format", "json", "."], cwd=folder.path)
    if answer.returncode != 0:
        raise invalid(folder.path, answer.stderr or answer.stdout)
    return [
        _note(
            folder.shown(note["location"]["file"]),
            note["location"]["row"],
            [str(part["value"]) for part in note["path"][1:]],
            note["annotations"],
        )
        for note in json.loads(answer.stdout).get("annotations", [])
    ]


def _annotations(opa: Opa, folder: Folder, files: list[Json]) -> list[Json]:
    try:
        return notes(opa, folder)
    except ContractError:
        # `opa inspect` reads only what compiles; the trees bear the same annotations.
        return [note for file in files for note in _annotations_in(file)]


def _annotations_in(file: Json) -> Iterator[Json]:
    tree = file["tree"]
    package = [str(part["value"]) for part in tree["package"]["path"][1:]]
    for note in tree.get("annotations", []):
        if note["scope"] in ("package", "subpackages"):
            yield _note(file["file"], tree["package"]["row"], package, note)
    for rule in tree.get("rules", []):
        names = [str(part["value"]) for part in rule["head"]["ref"]]
        for note in rule.get("annotations", []):
            yield _note(file["file"], rule["row"], [*package, *names], note)


def _note(file: str, row: int, path: list[str], note: Json) -> Json:
    said = {key: value for key, value in note.items() if key != "row"}
    return {"file": file, "row": row, "path": path, "annotations": said}


def _rego(folder: Path) -> list[str]:
    found = (path.relative_to(folder) for path in sorted(folder.rglob("*.rego")) if path.is_file())
    return [
        path.as_posix() for path in found if not any(part.startswith(".") for part in path.parts)
    ]


def _file(folder: Folder, name: str, tree: Json, unformatted: int | None) -> Json:
    return {
        "file": folder.shown(name),
        "folders": list(Path(name).parent.parts),
        "lines": len((folder.path / name).read_bytes().splitlines()),
        "unformatted": unformatted,
        "tree": tree,
    }


def _slim(node: Any) -> Any:
    """The tree with each location cut down to its row; the source text that OPA repeats there is most of the bytes."""
    if isinstance(node, list):
        return [_slim(item) for item in node]
    if not isinstance(node, dict):
        return node
    slim = {key: _slim(value) for key, value in node.items() if key != "location"}
    return {**slim, "row": node["location"]["row"]} if "location" in node else slim


def _unformatted(opa: Opa, folder: Folder) -> set[str]:
    answer = opa.run(["fmt", "--list", "."], cwd=folder.path)
    if answer.returncode != 0:
        raise invalid(folder.path, answer.stderr or answer.stdout)
    return {Path(line).as_posix() for line in answer.stdout.decode().splitlines()}


def _first_change(opa: Opa, folder: Folder, name: str) -> int:
    formatted = opa.run(["fmt", name], cwd=folder.path).stdout.splitlines()
    lines = (folder.path / name).read_bytes().splitlines()
    pairs = enumerate(zip(lines, formatted, strict=False), start=1)
    return next(
        (row for row, (old, new) in pairs if old != new), min(len(lines), len(formatted)) or 1
    )


def _complaints(opa: Opa, folder: Folder) -> list[Json]:
    policy = declared.folder("policy")
    arguments = ["check", ".", "--strict", "--format", "json", "--max-errors", _COMPLAINTS]
    arguments += ["--schema", str(declared.folder("contracts"))]
    arguments += ["--capabilities", str(policy / CAPABILITIES)]
    if folder.root == OVERLAY:
        arguments.append(str(policy))
    answer = opa.run(arguments, cwd=folder.path)
    if answer.returncode == 0:
        return []
    found = errors(answer.stderr or answer.stdout)
    if not found:
        raise invalid(folder.path, answer.stderr or answer.stdout)
    return [_complaint(folder, error) for error in found]


def _complaint(folder: Folder, error: Json) -> Json:
    place = error.get("location") or {}
    return {
        "code": error["code"],
        "message": visible(error["message"] + _hint(error.get("details") or {})),
        "file": folder.shown(place.get("file") or "."),
        "row": place.get("row") or 1,
    }


def _hint(details: Json) -> str:
    known: Iterable[Any] = details.get("oneOf") or ()
    words = ", ".join(sorted(str(word) for word in known))
    return f" (there is: {words})" if words else ""
