"""Which source each id of a modification stands for, so that one id never stands for two things.

Each id is a file of its own in the state folder, made whole and once.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tipstaff.documents.base import Contract, Identifier, SchemaVersion, Sha256, parse
from tipstaff.documents.strict_json import canonical, digest, loads
from tipstaff.errors import ContractError, EvidenceError
from tipstaff.files import read_regular, write_once

FOLDER = "modifications"
_DOMAIN = "tipstaff.modification-id.v1"
_MAX_BYTES = 1 << 16


class KeptId(Contract):
    """An id of an artifact's modification, and the digest of the source that it stands for."""

    schema_version: SchemaVersion
    artifact_id: Identifier
    modification_id: Identifier
    source_sha256: Sha256


class Modifications:
    """The ids of one state folder. Both methods raise ``EvidenceError``: ``store.unreadable``, ``store.corrupt``."""

    def __init__(self, state: Path) -> None:
        self._folder = state / FOLDER

    def source(self, artifact: str, modification: str) -> str | None:
        """The digest of the source that this id stands for; None where nobody has taken it."""
        path = self._path(artifact, modification)
        with _readable(path):
            try:
                data = read_regular(path, limit=_MAX_BYTES, owned=True)
            except FileNotFoundError:
                return None
            kept = parse(KeptId, loads(data), file=str(path))
        if (kept.artifact_id, kept.modification_id) != (artifact, modification):
            raise _corrupt(path, "it is of another id")
        return kept.source_sha256

    def keep(self, artifact: str, modification: str, source_sha256: str) -> str | None:
        """Let the id stand for this source, unless it stands for one already; the one it stands for."""
        path = self._path(artifact, modification)
        kept = KeptId(
            schema_version=1,
            artifact_id=artifact,
            modification_id=modification,
            source_sha256=source_sha256,
        )
        with _readable(path):
            write_once(path, canonical(kept.model_dump()))
        return self.source(artifact, modification)

    def _path(self, artifact: str, modification: str) -> Path:
        named = {"artifact_id": artifact, "modification_id": modification}
        return self._folder / f"{digest(named, domain=_DOMAIN)}.json"


@contextmanager
def _readable(path: Path) -> Iterator[None]:
    try:
        yield
    except ContractError as error:
        raise _corrupt(path, str(error)) from error
    except OSError as error:
        raise EvidenceError(
            "store.unreadable",
            f"the ids of modifications can't be read or written: {error.strerror or error}",
            file=str(path),
            fix="make the state folder and its files writable for you, and free disk space",
        ) from error


def _corrupt(path: Path, message: str) -> EvidenceError:
    return EvidenceError(
        "store.corrupt", message, file=str(path), fix="restore the file; nothing is decided"
    )
