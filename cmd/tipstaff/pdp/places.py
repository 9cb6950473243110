"""Folders of this user, and locks in them: what one process makes, another may not disturb or read."""

from __future__ import annotations

import fcntl
import os
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import mkstemp

from tipstaff.errors import DecisionError

_PAUSE_S = 0.01


def cache_home() -> Path:
    """Where things that can be made again lie: ``$XDG_CACHE_HOME/tipstaff``."""
    return _home("XDG_CACHE_HOME", ".cache") / "tipstaff"


def state_home() -> Path:
    """Where what must outlast a project lies, keys and witness: ``$XDG_STATE_HOME/tipstaff``."""
    return _home("XDG_STATE_HOME", ".local/state") / "tipstaff"


def _home(variable: str, otherwise: str) -> Path:
    named = os.environ.get(variable, "")
    return Path(named) if named.startswith("/") else Path.home() / otherwise


def private_folder(path: Path) -> Path:
    """Make the folder with mode 0700, or accept it if it is exactly that and ours; returns it.

    Raises ``DecisionError`` (``folder.exposed``) for a link, another owner or a wider mode.
    """
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    check_private(path)
    return path


def check_private(path: Path) -> None:
    """Refuse a folder as ``private_folder`` does, but make none; raises ``FileNotFoundError`` where there is none."""
    facts = path.lstat()
    mode = stat.S_IMODE(facts.st_mode)
    if stat.S_ISDIR(facts.st_mode) and facts.st_uid == os.geteuid() and not mode & 0o077:
        return
    raise DecisionError(
        "folder.exposed",
        f"the folder belongs to uid {facts.st_uid} with mode {mode:04o}; it must be ours with 0700",
        file=str(path),
        fix="remove the folder, or make it yours and `chmod 700` it",
    )


def replace(path: Path, content: bytes, *, mode: int = 0o644) -> None:
    """Write the file whole or not at all: a temporary file beside it, then a rename."""
    descriptor, temporary = mkstemp(dir=path.parent, prefix=f".{path.name}-")
    try:
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(content)
        Path(temporary).chmod(mode)
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


@contextmanager
def held(path: Path, *, timeout_s: float) -> Iterator[None]:
    """Hold the file as an exclusive lock among processes.

    Raises ``DecisionError`` (``lock.timeout``) when another process keeps it for ``timeout_s`` seconds.
    """
    deadline = time.monotonic() + timeout_s
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        while not _lock(descriptor, fcntl.LOCK_EX):
            if time.monotonic() > deadline:
                raise DecisionError(
                    "lock.timeout",
                    f"another process held the lock for {timeout_s:g} s",
                    file=str(path),
                    fix="wait for the other run of tipstaff to end, then try again",
                )
            time.sleep(_PAUSE_S)
        yield
    finally:
        os.close(descriptor)


def is_held(path: Path) -> bool:
    """Whether some process holds the lock now; a missing file is held by nobody."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError:
        return False
    try:
        return not _lock(descriptor, fcntl.LOCK_SH)
    finally:
        os.close(descriptor)


def _lock(descriptor: int, kind: int) -> bool:
    try:
        fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
