"""The operator's key, by which decisions in an approval file are vouched for."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from tipstaff.errors import EvidenceError
from tipstaff.files import read_named

VARIABLE = "TIPSTAFF_APPROVAL_MAC_KEY"
_SHORTEST, _LONGEST = 32, 4096


def operator_key() -> bytes | None:
    """The bytes of the file that ``TIPSTAFF_APPROVAL_MAC_KEY`` names; None where it is not set.

    Raises ``EvidenceError`` (``store.key``) where it cannot be read, is too short, or others may read it.
    """
    name = os.environ.get(VARIABLE)
    if name is None:
        return None
    path = Path(name)
    try:
        if path.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO):
            raise _unusable(path, "others may read it")
        key = read_named(path, limit=_LONGEST)
    except OSError as error:
        raise _unusable(path, error.strerror or str(error)) from error
    if len(key) < _SHORTEST:
        raise _unusable(path, f"shorter than {_SHORTEST} bytes")
    return key


def _unusable(path: Path, why: str) -> EvidenceError:
    return EvidenceError(
        "store.key",
        why,
        file=str(path),
        field=VARIABLE,
        fix="make one with `(umask 077; head -c 32 /dev/urandom > FILE)`",
    )
