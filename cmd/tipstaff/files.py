"""Private files written so that a crash leaves the old or the new content, and locks the kernel gives back.

Everything here raises ``OSError``; the caller knows which error of ours that is.
"""

from __future__ import annotations

import errno
import fcntl
import glob
import os
import secrets
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_OPEN = os.O_CLOEXEC | os.O_NOFOLLOW
# Readers come back at once, so one who looks seldom would hardly ever find the lock free.
_LOOK_S = 0.0005
_RANDOM_BYTES = 8


def private_folder(path: Path) -> None:
    """Make the folder and its parents where absent, closed to other users (0700)."""
    for folder in reversed((path, *path.parents)):
        if not folder.exists():
            folder.mkdir(mode=0o700, exist_ok=True)


def sync_folder(path: Path) -> None:
    """Make the folder's entries durable."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def read_regular(path: Path, *, limit: int, owned: bool = False) -> bytes:
    """The bytes of a regular file of at most ``limit`` bytes that is no symbolic link; ``owned`` by this user."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | _OPEN)
    with os.fdopen(descriptor, "rb") as file:
        _demand_regular(descriptor)
        if owned and os.fstat(descriptor).st_uid != os.geteuid():
            raise OSError(errno.EPERM, "belongs to another user", str(path))
        return _at_most(file.read(limit + 1), limit, path)


def read_descriptor(descriptor: int, path: Path, *, limit: int) -> bytes:
    """As ``read_regular`` what is open already, and stays so; ``path`` names it in errors."""
    _demand_regular(descriptor)
    with os.fdopen(descriptor, "rb", closefd=False) as file:
        return _at_most(file.read(limit + 1), limit, path)


def read_named(path: Path, *, limit: int) -> bytes:
    """As ``read_regular`` through symbolic links: a file that a person, a setting or the environment names.

    A pipe or a device is an error, and nothing that could be waited for.
    """
    return read_regular(Path(os.path.realpath(path, strict=True)), limit=limit)


def write_atomically(path: Path, data: bytes, *, mode: int = 0o600) -> None:
    """Replace the file: written beside it, synced, renamed, and the folder synced."""
    with _written_beside(path, data, mode) as beside:
        beside.replace(path)


def write_once(path: Path, data: bytes) -> bool:
    """Make the file, whole and durable, unless there is one; whether it was made. Of many callers one makes it."""
    try:
        with _written_beside(path, data, 0o600) as beside:
            os.link(beside, path)
    except FileExistsError:
        return False
    return True


@contextmanager
def _written_beside(path: Path, data: bytes, mode: int) -> Iterator[Path]:
    """A synced file beside the path, to be put in its place; what is left of it is removed, and the folder synced."""
    private_folder(path.parent)
    beside = path.with_name(f".{path.name}.{secrets.token_hex(_RANDOM_BYTES)}")
    descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _OPEN, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fchmod(descriptor, mode)
            os.fsync(descriptor)
        yield beside
    finally:
        with suppress(OSError):
            beside.unlink()
    sync_folder(path.parent)


def remove_leftovers(path: Path) -> None:
    """Remove what ``write_atomically`` left beside the file when it was killed; nobody else may be writing it now."""
    for beside in path.parent.glob(f".{glob.escape(path.name)}.{'[0-9a-f]' * 2 * _RANDOM_BYTES}"):
        beside.unlink(missing_ok=True)


@contextmanager
def locked(
    path: Path, *, fleeting: bool = False, timeout_s: float | None = None, create: bool = True
) -> Iterator[int]:
    """Hold an exclusive lock on the file, made 0600 where absent; yields its descriptor for reading and appending.

    Waits for the holder, with ``timeout_s`` no longer than that (``TimeoutError``); the kernel releases a lock when its
    holder dies. ``fleeting`` removes the file at the end; without ``create`` an absent one is ``FileNotFoundError``.
    """
    deadline = None if timeout_s is None else time.monotonic() + timeout_s
    descriptor = _lock(path, deadline, os.O_CREAT if create else 0)
    try:
        yield descriptor
    finally:
        if fleeting:
            with suppress(OSError):
                path.unlink()
        os.close(descriptor)


def is_locked(path: Path) -> bool:
    """Whether some process holds the lock now; a missing file is held by nobody."""
    try:
        descriptor = os.open(path, os.O_RDONLY | _OPEN)
    except OSError:
        return False
    try:
        return not _acquire(descriptor, fcntl.LOCK_SH)
    finally:
        os.close(descriptor)


def _lock(path: Path, deadline: float | None, create: int) -> int:
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_APPEND | os.O_NONBLOCK | create | _OPEN, 0o600)
        try:
            _demand_regular(descriptor)
            _wait(descriptor, deadline, fcntl.LOCK_EX)
            if _is_at(path, descriptor):
                return descriptor
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)


def _wait(descriptor: int, deadline: float | None, kind: int) -> None:
    if deadline is None:
        fcntl.flock(descriptor, kind)
        return
    while not _acquire(descriptor, kind):
        if time.monotonic() > deadline:
            raise TimeoutError(errno.ETIMEDOUT, "another process holds it")
        time.sleep(_LOOK_S)


def _acquire(descriptor: int, kind: int) -> bool:
    try:
        fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


@contextmanager
def reading(path: Path, *, timeout_s: float | None = None) -> Iterator[int]:
    """A descriptor for reading the file, locked against writers, for whom it waits as ``locked`` does.

    Nothing is created.
    """
    deadline = None if timeout_s is None else time.monotonic() + timeout_s
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | _OPEN)
    try:
        _demand_regular(descriptor)
        _wait(descriptor, deadline, fcntl.LOCK_SH)
        yield descriptor
    finally:
        os.close(descriptor)


def release(descriptor: int) -> None:
    """Let writers go on; what was read before stays as it was, since they only append."""
    fcntl.flock(descriptor, fcntl.LOCK_UN)


def _is_at(path: Path, descriptor: int) -> bool:
    try:
        return os.path.samestat(path.stat(follow_symlinks=False), os.fstat(descriptor))
    except FileNotFoundError:
        return False


def _at_most(data: bytes, limit: int, path: Path) -> bytes:
    if len(data) > limit:
        raise OSError(errno.EFBIG, f"larger than {limit} bytes", str(path))
    return data


def _demand_regular(descriptor: int) -> None:
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        raise OSError(errno.EINVAL, "not a regular file")
