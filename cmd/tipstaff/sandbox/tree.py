"""What a folder holds, as one digest: every name, kind, permission and byte in it, and where links point."""

from __future__ import annotations

import hashlib
import os
import stat
from pathlib import Path

from tipstaff.errors import ContractError


def content_sha256(folder: Path) -> str:
    """The SHA-256 of a folder's content; no link is followed, and times and owners do not count.

    Raises ``ContractError`` (``sandbox.input``) for what is neither file, folder nor link: through a socket, a pipe or
    a device, also one seen read-only, a command could reach whoever holds its other end.
    """
    if folder.is_symlink() or not folder.is_dir():
        raise _refusal(folder, "it is not a folder itself")
    total = hashlib.sha256()
    for path, folders, files, descriptor in os.fwalk(folder):
        folders.sort()
        place = os.fsencode(os.path.relpath(path, folder))
        for name in sorted((*folders, *files)):
            mode, content = _entry(Path(path, name), descriptor)
            for part in (place, os.fsencode(name), oct(mode).encode(), content):
                total.update(len(part).to_bytes(8, "big") + part)
    return total.hexdigest()


def _entry(path: Path, folder: int) -> tuple[int, bytes]:
    """The kind and permissions of an entry, and what stands for its content."""
    mode = os.lstat(path.name, dir_fd=folder).st_mode
    if stat.S_ISLNK(mode):
        return mode, os.fsencode(os.readlink(path.name, dir_fd=folder))
    if stat.S_ISDIR(mode):
        return mode, b""
    if not stat.S_ISREG(mode):
        raise _refusal(path, "it is neither file, folder nor link")
    file = os.open(path.name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=folder)
    with open(file, "rb") as reader:
        return mode, hashlib.file_digest(reader, "sha256").digest()


def _refusal(path: Path, complaint: str) -> ContractError:
    return ContractError(
        "sandbox.input",
        f"{path} cannot be given to a run: {complaint}",
        field="input",
        fix="give a folder of files, folders and links",
    )
