"""The two folders that nsjail mounts on: it makes them at fixed places of the host and leaves them there.

Every run holds a lock on the first one, so that the last run to end can take them away.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tipstaff.sandbox.identity import NOBODY, is_real_root

_ATTEMPTS = 100


@contextmanager
def taken_away() -> Iterator[None]:
    """Leave none of nsjail's folders behind, unless another run still needs them."""
    user = NOBODY if is_real_root() else os.getuid()
    lock = _lock(Path(f"/tmp/nsjail.{user}.root"))  # noqa: S108 (nsjail's own choice)
    try:
        yield
    finally:
        if lock is not None:
            with suppress(OSError):
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                _remove(user)
            os.close(lock)


def _lock(folder: Path) -> int | None:
    """A shared lock on the folder that lies there; None where there can be none, and nsjail takes another."""
    for _ in range(_ATTEMPTS):
        try:
            folder.mkdir(mode=0o755, exist_ok=True)
            lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        except FileNotFoundError:
            continue
        except OSError:
            return None
        fcntl.flock(lock, fcntl.LOCK_SH)
        with suppress(OSError):
            if os.path.samestat(os.fstat(lock), folder.lstat()):
                return lock
        os.close(lock)
    return None


def _remove(user: int) -> None:
    own = Path(f"/run/user/{user}/nsjail")
    places = [own / "root", own / "tmp", own]
    for parent in ("/run/user", "/tmp"):  # noqa: S108 (nsjail's own choice)
        places += [Path(parent, f"nsjail.{user}.{kind}") for kind in ("tmp", "root")]
    for place in places:
        with suppress(OSError):
            place.rmdir()
