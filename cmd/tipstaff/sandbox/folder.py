"""Private temporary folders: gone after use, and after a kill at the next use of one.

Each holds a lock for as long as its maker lives, so a folder without a holder is known to be left over.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tipstaff.errors import SandboxError
from tipstaff.sandbox.identity import NOBODY, has_reached, is_real_root

_PREFIX = "tipstaff-sandbox-"
_LOCK = "lock"
_UNLOCKED_S = 3600.0
_FOLDERS = ("/tmp", "/var/tmp")  # noqa: S108 (only as parents of folders of random name)


@contextmanager
def temporary_folder() -> Iterator[Path]:
    """A folder that is gone afterwards; for real root, one that uid 65534 can pass but not list.

    Raises ``SandboxError`` where no such folder can be made.
    """
    parent = _parent()
    _sweep(parent)
    try:
        folder = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=parent)).resolve()
        lock = _locked(folder)
    except OSError as error:
        raise _refusal(f"no folder can be made in {parent}: {error.strerror}") from error
    try:
        folder.chmod(0o711 if is_real_root() else 0o700)
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(lock)


def _locked(folder: Path) -> int:
    """A lock on the folder, held before anybody can find it: one that nobody holds has lost its maker."""
    unnamed = folder / f"{_LOCK}.new"
    lock = os.open(unnamed, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    unnamed.rename(folder / _LOCK)
    return lock


def _parent() -> Path:
    preferred = Path(tempfile.gettempdir())
    if not is_real_root():
        return preferred
    places = (preferred, *(Path(place) for place in _FOLDERS))
    parent = next((place for place in places if has_reached(place)), None)
    if parent is None:
        raise _refusal(f"uid {NOBODY} can reach none of {', '.join(map(str, places))}")
    return parent


def _sweep(parent: Path) -> None:
    """Remove what makers that were killed have left."""
    for folder in parent.glob(f"{_PREFIX}*"):
        with suppress(OSError):
            status = folder.lstat()
            if status.st_uid == os.geteuid() and _is_left_over(folder, status.st_mtime):
                shutil.rmtree(folder, ignore_errors=True)


def _is_left_over(folder: Path, changed: float) -> bool:
    try:
        lock = os.open(folder / _LOCK, os.O_RDWR | os.O_NOFOLLOW)
    except FileNotFoundError:
        return time.time() - changed > _UNLOCKED_S
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    finally:
        os.close(lock)
    return True


def _refusal(complaint: str) -> SandboxError:
    return SandboxError(
        "sandbox.no_folder",
        complaint,
        fix="set TMPDIR to a folder with space that everyone may enter, or run as an ordinary user",
    )
