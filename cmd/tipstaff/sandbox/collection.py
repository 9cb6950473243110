"""Taking files out of a sandbox: below one folder, no link followed, regular files only, and capped."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable
from pathlib import PurePosixPath

MAX_FILE_BYTES = 8 << 20


def collect(folder: int, names: Iterable[str], *, root: str) -> dict[str, bytes]:
    """The bytes of each named file that is there and harmless, by its name.

    ``folder`` is an open descriptor of what the sandbox sees as ``root``; names lie below ``root``.
    """
    found = {}
    for name in names:
        data = _read(folder, PurePosixPath(name).relative_to(root).parts)
        if data is not None:
            found[name] = data
    return found


def _read(folder: int, parts: tuple[str, ...]) -> bytes | None:
    opened: list[int] = []
    current = folder
    try:
        for part in parts[:-1]:
            current = os.open(part, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=current)
            opened.append(current)
        # Without O_NONBLOCK a named pipe would hold us until somebody writes to it.
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY
        file = os.open(parts[-1], flags, dir_fd=current)
        opened.append(file)
        status = os.fstat(file)
        if not stat.S_ISREG(status.st_mode) or status.st_size > MAX_FILE_BYTES:
            return None
        with open(file, "rb", closefd=False) as reader:
            data = reader.read(MAX_FILE_BYTES + 1)
        return data if len(data) <= MAX_FILE_BYTES else None
    except OSError:
        return None
    finally:
        for descriptor in opened:
            os.close(descriptor)
