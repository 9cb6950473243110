"""Writing a new snapshot: never over one that is committed."""

from __future__ import annotations

from pathlib import Path

from tipstaff.cli.writing import write_text
from tipstaff.documents.contract import Snapshot, text
from tipstaff.errors import ContractError
from tipstaff.healing.pins.baseline import pin_path
from tipstaff.project import find_root


def target(name: str, out: str | None) -> Path:
    """Where a new snapshot goes; in the project's folder of contracts nothing is overwritten."""
    pin = pin_path(find_root(Path()), name)
    path = Path(out) if out else pin
    if path.exists() and path.resolve().parent == pin.parent.resolve():
        raise ContractError(
            "contract.exists",
            "the snapshot is there already",
            file=str(path),
            fix="write elsewhere with --out, look at `tipstaff contracts diff`, and let a person move the pin",
        )
    return path


def write(path: Path, found: Snapshot) -> None:
    """Write a snapshot; raises ``ContractError`` (``file.unwritable``)."""
    write_text(path, text(found))


def counted(found: Snapshot) -> str:
    """How much a snapshot holds, and its digest, as a line says it."""
    lists = (
        f"{len(found.tools)} tools, {len(found.prompts)} prompts, {len(found.resources)} resources"
    )
    return f"{lists}, digest {found.digest}"
