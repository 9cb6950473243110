"""Where contracts are pinned in a repository, and which of them a patch touches."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tipstaff.documents.contract import SUFFIX

if TYPE_CHECKING:
    from tipstaff.evidence.diff import Patch

FOLDER = "contracts"
# Whatever some file system takes for a pinned contract; policy says which are, and misses what is not measured.
_PINNED = re.compile(rf"{FOLDER}/[^/]+{re.escape(SUFFIX)}", re.IGNORECASE)


def place(server: str) -> str:
    """Where the contract of a server is pinned."""
    return f"{FOLDER}/{server}{SUFFIX}"


def is_pin(path: str) -> bool:
    """Whether a contract may be pinned at a repository path."""
    return _PINNED.fullmatch(path) is not None


def touched(patch: Patch) -> set[str]:
    """The paths of pinned contracts that a patch adds, changes, moves or takes away."""
    named = (name for file in patch.files for name in (file.path, file.old_path))
    return {name for name in named if name is not None and is_pin(name)}
