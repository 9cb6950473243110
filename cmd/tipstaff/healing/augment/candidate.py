"""The script that is proposed: one plain Python file, read and never run here."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from tipstaff.errors import ContractError
from tipstaff.files import read_regular

MAX_BYTES = 64 << 10
FOLDER = "scripts"
_NAME = re.compile(r"[a-z][a-z0-9_]{0,60}\.py")


@dataclass(frozen=True)
class Candidate:
    """The script's bytes under a plain file name."""

    name: str
    data: bytes

    @property
    def sha256(self) -> str:
        """The digest of its bytes."""
        return hashlib.sha256(self.data).hexdigest()

    def place(self, skill: str) -> str:
        """Where the change puts it, for a skill's file: in ``scripts/`` beside that."""
        return str(PurePosixPath(skill).parent / FOLDER / self.name)


def read(path: Path) -> Candidate:
    """Read a candidate; raises ``ContractError`` (``augment.script``) for what is no plain Python text."""
    if not _NAME.fullmatch(path.name):
        fix = "rename it: lower-case letters, digits and underscores, ending in .py"
        raise _refusal(path, "its name cannot be written into a skill", fix)
    try:
        data = read_regular(path, limit=MAX_BYTES)
    except OSError as error:
        fix = f"name a regular file of at most {MAX_BYTES} bytes that is no link"
        raise _refusal(path, error.strerror or str(error), fix) from error
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise _refusal(path, f"not UTF-8 at byte {error.start}", "save it as UTF-8") from error
    if "\0" in text or not text.strip():
        complaint = "contains a NUL byte" if "\0" in text else "is empty"
        raise _refusal(path, complaint, "name a script in Python")
    return Candidate(path.name, data)


def _refusal(path: Path, complaint: str, fix: str) -> ContractError:
    return ContractError("augment.script", complaint, file=str(path), field="--script", fix=fix)
