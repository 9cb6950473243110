"""Signed bundles that a project has made or accepted, kept in its state so that one can be brought back."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from tipstaff.errors import ContractError
from tipstaff.files import private_folder, write_atomically
from tipstaff.pdp.bundle import Bundle, claims

_NUMBER = re.compile(r"r(0|[1-9][0-9]{0,15})")


@dataclass(frozen=True)
class Kept:
    """One kept bundle: its revision, its number, where it lies."""

    revision: str
    sequence: int
    file: Path


def place(state: Path, bundle: Bundle) -> Path:
    """Where a bundle is kept."""
    return _folder(state, bundle.name) / f"{bundle.revision}.tar.gz"


def keep(state: Path, bundle: Bundle, data: bytes) -> None:
    """Keep the bytes of a bundle; raises ``OSError``."""
    file = place(state, bundle)
    if not file.exists():
        private_folder(file.parent)
        write_atomically(file, data)


def kept(state: Path, name: str) -> list[Kept]:
    """What is kept of one root, by its number; nothing of it is verified."""
    found = [
        Kept(str(said["revision"]), int(said["sequence"]), file)
        for file in _folder(state, name).glob("[!.]*.tar.gz")
        if (said := claims(file, name))
    ]
    return sorted(found, key=lambda one: (one.sequence, one.revision))


def find(state: Path, name: str, wanted: str) -> Kept:
    """The kept bundle of a revision, or of its number as ``r41``.

    Raises ``ContractError``: ``bundle.unknown`` where there is none, ``bundle.ambiguous`` where there are several.
    """
    number = _NUMBER.fullmatch(wanted)
    everything = kept(state, name)
    found = [
        one
        for one in everything
        if one.revision == wanted or (number and one.sequence == int(number[1]))
    ]
    if len(found) == 1:
        return found[0]
    names = ", ".join(one.revision for one in found or everything[-5:])
    raise ContractError(
        "bundle.ambiguous" if found else "bundle.unknown",
        f"{len(found) or 'no'} bundles here are {wanted}",
        field="REVISION",
        fix=f"name one that is kept: {names}" if names else "restore the bundle's file with git",
    )


def _folder(state: Path, name: str) -> Path:
    return state / "bundles" / "kept" / name
