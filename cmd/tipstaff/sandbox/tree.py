"""What a folder holds, as one digest: every name, kind, permission and byte in it, and where links point."""

from __future__ import annotations

import hashlib
import os
import stat
from pathlib import Path


def content_sha256(folder: Path) -> str:
    """The SHA-256 of a folder's content; no link is followed, and times and owners do not count."""
    total = hashlib.sha256()
    for path, folders, files, descriptor in os.fwalk(folder):
        folders.sort()
        place = os.fsencode(os.path.relpath(path, folder))
        for name in sorted((*folders, *files)):
            mode, content = _entry(name, descriptor)
            for part in (place, os.fsencode(name), oct(mode).encode(), content):
                total.update(len(part).to_bytes(8, "big") + part)
    return total.hexdigest()


def _entry(name: str, folder: int) -> tuple[int, bytes]:
    """The kind and permissions of an entry, and what stands for its content."""
    mode = os.lstat(name, dir_fd=folder).st_mode
    if stat.S_ISLNK(mode):
        return mode, os.fsencode(os.readlink(name, dir_fd=folder))
    if not stat.S_ISREG(mode):
        return mode, b""
    file = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=folder)
    with open(file, "rb") as reader:
        return mode, hashlib.file_digest(reader, "sha256").digest()
