"""The committed snapshots, and writing a new one: never over one that is there."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import click

from tipstaff.documents.contract import SUFFIX, Snapshot, read_snapshot, text
from tipstaff.errors import ContractError
from tipstaff.files import write_atomically
from tipstaff.project import find_root

FOLDER = "contracts"


def folder() -> Path:
    """The project's folder of contracts."""
    return find_root(Path()) / FOLDER


def pin(name: str) -> Path:
    """Where the committed snapshot of a server lies, if there is one."""
    demand_name(name)
    return folder() / f"{name}{SUFFIX}"


def target(name: str, out: str | None) -> Path:
    """Where a new snapshot goes; in the project's folder of contracts nothing is overwritten."""
    path = Path(out) if out else pin(name)
    demand_name(name)
    if path.exists() and path.resolve().parent == folder().resolve():
        raise ContractError(
            "contract.exists",
            "the snapshot is there already",
            file=str(path),
            fix="write elsewhere with --out, look at `tipstaff contracts diff`, and let a person move the pin",
        )
    return path


def others(path: Path, name: str) -> Iterator[Snapshot]:
    """The committed snapshots of other servers, in whose names this one's could hide."""
    for each in sorted(folder().glob(f"*{SUFFIX}")):
        if each != path and each.name != f"{name}{SUFFIX}":
            yield read_snapshot(each)


def write(path: Path, found: Snapshot) -> None:
    """Write a snapshot; raises ``ContractError`` (``file.unwritable``)."""
    try:
        write_atomically(path, text(found).encode(), mode=0o644)
    except OSError as error:
        raise ContractError(
            "file.unwritable",
            error.strerror or str(error),
            file=str(path),
            fix="name a file in a folder that can be written",
        ) from error


def counted(found: Snapshot) -> str:
    """How much a snapshot holds, and its digest, as a line says it."""
    lists = (
        f"{len(found.tools)} tools, {len(found.prompts)} prompts, {len(found.resources)} resources"
    )
    return f"{lists}, digest {found.digest}"


def demand_name(name: str) -> None:
    """Raise ``BadParameter`` for a name that is no file's."""
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}", name):
        raise click.BadParameter(
            "a name has letters, digits, dots, dashes and underscores only", param_hint="--name"
        )
