"""Snapshots that were observed and are not the committed one, kept until a person accepts one of them by its digest.

They lie in the state folder, some for each server, the oldest giving way. What is taken out is digested again, so a
file that was changed meanwhile is none.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tipstaff.documents import strict_json
from tipstaff.documents.base import Contract, SchemaVersion, Timestamp, parse
from tipstaff.documents.context import Actor
from tipstaff.documents.contract import MAX_BYTES, SUFFIX, Snapshot, snapshot_of, text
from tipstaff.documents.server import demand_name
from tipstaff.errors import ContractError
from tipstaff.files import private_folder, read_regular, write_atomically
from tipstaff.project import prepare, timestamp

FOLDER = "contracts"
KEPT = 20
_SIGHTING = ".sighting.json"
_DIGEST = re.compile(r"[0-9a-f]{64}")


class Sighting(Contract):
    """Who had a candidate observed first, and when."""

    schema_version: SchemaVersion
    seen_by: Actor
    seen_at: Timestamp


@dataclass(frozen=True)
class Candidate:
    """A kept snapshot, whose digest is what its bytes give; ``sighting`` is None where nobody knows any more."""

    snapshot: Snapshot
    sighting: Sighting | None


class Candidates:
    """The candidates of one project, below its state folder."""

    def __init__(self, state: Path) -> None:
        self._state = state

    def keep(self, found: Snapshot, seen_by: Actor) -> Path:
        """Keep a snapshot under its digest; the first sighting of one stays. Raises ``ContractError``."""
        folder = self._folder(found.server_id)
        path = folder / f"{found.digest}{SUFFIX}"
        sighting = Sighting(schema_version=1, seen_by=seen_by, seen_at=timestamp())
        try:
            prepare(self._state)
            private_folder(folder)
            if self.find(found.server_id, found.digest) is None:
                note = sighting.model_dump_json().encode()
                write_atomically(folder / f"{found.digest}{_SIGHTING}", note)
                write_atomically(path, text(found).encode())
            path.touch()
            self._forget_old(folder)
        except OSError as error:
            raise _unwritable(path, error) from error
        return path

    def find(self, name: str, digest: str) -> Candidate | None:
        """The candidate of exactly this digest; None where there is none, or where its file now holds another one."""
        folder = self._folder(name)
        path = folder / f"{_digest(digest)}{SUFFIX}"
        try:
            data = read_regular(path, limit=MAX_BYTES)
            found = snapshot_of(data)
        except (OSError, ContractError):
            return None
        if found.digest != digest or found.server_id != name:
            return None
        return Candidate(found, self._sighting(folder / f"{digest}{_SIGHTING}"))

    def drop(self, name: str, digest: str) -> None:
        """Forget a candidate, as one that was accepted."""
        for suffix in (SUFFIX, _SIGHTING):
            (self._folder(name) / f"{_digest(digest)}{suffix}").unlink(missing_ok=True)

    def _folder(self, name: str) -> Path:
        return self._state / FOLDER / demand_name(name)

    @staticmethod
    def _files(folder: Path) -> Iterator[Path]:
        for path in folder.glob(f"*{SUFFIX}"):
            if _DIGEST.fullmatch(path.name.removesuffix(SUFFIX)):
                yield path

    def _forget_old(self, folder: Path) -> None:
        for path in sorted(self._files(folder), key=_age, reverse=True)[KEPT:]:
            self.drop(folder.name, path.name.removesuffix(SUFFIX))

    @staticmethod
    def _sighting(path: Path) -> Sighting | None:
        try:
            return parse(Sighting, strict_json.loads(read_regular(path, limit=1 << 12)))
        except (OSError, ContractError):
            return None


def _digest(digest: str) -> str:
    if not _DIGEST.fullmatch(digest):
        raise ContractError(
            "contract.digest",
            "a digest has 64 hexadecimal digits",
            field="digest",
            fix="copy the whole digest that was shown",
        )
    return digest


def _age(path: Path) -> tuple[int, str]:
    try:
        return path.stat().st_mtime_ns, path.name
    except FileNotFoundError:
        return 0, path.name


def _unwritable(path: Path, error: OSError) -> ContractError:
    return ContractError(
        "file.unwritable",
        error.strerror or str(error),
        file=str(path),
        fix="make the state folder writable",
    )
