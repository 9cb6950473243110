"""Taking files out of a sandbox: below one folder, through no link, regular files only, counted and capped.

What is taken is bytes under a name; its mode, owner, times and attributes stay behind. What is not taken is told.
"""

from __future__ import annotations

import ctypes
import errno
import os
import stat
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from tipstaff.documents.sandbox import Refused
from tipstaff.documents.text import visible

MAX_FILE_BYTES = 8 << 20
MAX_TOTAL_BYTES = 64 << 20
MAX_FILES = 1000
MAX_REFUSED = 100
_MAX_DEPTH = 32
_OPENAT2 = 437  # on every architecture
# Beneath the folder, through no link of any kind, on its own file system.
_RESOLVE = 0x08 | 0x04 | 0x02 | 0x01
_PATH_ONLY = os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC
_KINDS = {
    stat.S_IFLNK: "a link",
    stat.S_IFIFO: "a named pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFBLK: "a device",
    stat.S_IFCHR: "a device",
}
_WORDS = {
    errno.ENOENT: "is not there",
    errno.ELOOP: "leads through a link",
    errno.ENOTDIR: "leads through something that is no folder",
    errno.EXDEV: "leads out of its folder",
}


@dataclass(frozen=True)
class Collected:
    """What was taken, by the path inside, and what was asked for or found and not taken."""

    files: dict[str, bytes] = field(default_factory=dict)
    refused: tuple[Refused, ...] = ()


class Refusal(Exception):
    """Why one path is not taken; the text continues its name."""


@dataclass
class Basket:
    """What is taken so far, with the names that are spoken for."""

    files: dict[str, bytes] = field(default_factory=dict)
    refused: list[Refused] = field(default_factory=list)
    spellings: dict[str, str] = field(default_factory=dict)
    total: int = 0

    def refuse(self, name: str, reason: str) -> None:
        """Note what is not taken, up to a number."""
        if len(self.refused) < MAX_REFUSED:
            self.refused.append(Refused(path=visible(name), reason=reason))

    def add(self, name: str, data: bytes) -> None:
        """Put a file in."""
        self.files[name] = data
        self.total += len(data)

    def claim(self, name: str) -> None:
        """Keep a name for a file, unless another means the same to some file system."""
        if visible(name) != name:
            raise Refusal("has a name that does not print")
        spelling = unicodedata.normalize("NFC", name).casefold()
        other = self.spellings.setdefault(spelling, name)
        if other != name:
            raise Refusal(f"is the same name as {other} where case does not count")
        if len(self.files) >= MAX_FILES:
            raise Refusal(f"is one more than {MAX_FILES} files")


def take(folder: int, names: Iterable[str], *, root: str) -> Collected:
    """Each named file, and each file below a named folder, that is there and harmless.

    ``folder`` is an open descriptor of what the sandbox sees as ``root``.
    """
    basket = Basket()
    for name in dict.fromkeys(names):
        try:
            parts = below(name, root)
            _take(folder, parts, name, basket)
        except Refusal as refusal:
            basket.refuse(name, str(refusal))
    return Collected(basket.files, tuple(basket.refused))


def below(name: str, root: str) -> tuple[str, ...]:
    """The parts of a path beneath a folder; raises ``Refusal`` for any other path."""
    path = PurePosixPath(name)
    if "\0" in name or ".." in path.parts or not path.is_relative_to(root):
        raise Refusal(f"is no path below {root}")
    return path.relative_to(root).parts


def _take(folder: int, parts: tuple[str, ...], name: str, basket: Basket) -> None:
    """Take one entry below a folder, and all that it holds; what lies in it is refused by itself."""
    entry = _open(folder, parts)
    try:
        status = os.fstat(entry)
        kind = stat.S_IFMT(status.st_mode)
        if kind == stat.S_IFDIR:
            _take_all(entry, name, basket)
        elif kind == stat.S_IFREG:
            if name not in basket.files:
                basket.claim(name)
                basket.add(name, _read(entry, status, basket.total))
        else:
            raise Refusal(f"is {_KINDS.get(kind, 'no regular file')}")
    finally:
        os.close(entry)


def _take_all(folder: int, name: str, basket: Basket) -> None:
    if len(PurePosixPath(name).parts) > _MAX_DEPTH:
        raise Refusal(f"is deeper than {_MAX_DEPTH} folders")
    listed = _reopened(folder, os.O_DIRECTORY)
    try:
        for entry in sorted(os.listdir(listed)):
            inside = f"{name.rstrip('/')}/{entry}"
            try:
                _take(listed, (entry,), inside, basket)
            except Refusal as refusal:
                basket.refuse(inside, str(refusal))
    finally:
        os.close(listed)


def _read(entry: int, status: os.stat_result, total: int) -> bytes:
    room = min(MAX_FILE_BYTES, MAX_TOTAL_BYTES - total)
    if status.st_nlink > 1:
        raise Refusal("has a second name, a hard link")
    if status.st_size > room:
        raise Refusal(_too_large(room))
    with open(_reopened(entry, os.O_NONBLOCK), "rb") as reader:
        data = reader.read(room + 1)
    if len(data) > room:
        raise Refusal(_too_large(room))
    return data


def _too_large(room: int) -> str:
    if room < MAX_FILE_BYTES:
        return f"is more than {MAX_TOTAL_BYTES >> 20} MiB together with those before it"
    return f"is larger than {MAX_FILE_BYTES >> 20} MiB"


def _reopened(entry: int, flags: int) -> int:
    """The same file, opened for reading; its path is not looked up again."""
    try:
        return os.open(f"/proc/self/fd/{entry}", os.O_RDONLY | os.O_NOCTTY | os.O_CLOEXEC | flags)
    except OSError as error:
        raise Refusal(f"cannot be read: {error.strerror}") from error


def _open(folder: int, parts: tuple[str, ...]) -> int:
    """A descriptor that only stands for an entry, found beneath the folder and through no link."""
    try:
        try:
            return _resolved(folder, "/".join(parts) or ".")
        except OSError as error:
            # Kernels before 5.6 have no such call, and a container may filter it.
            if error.errno not in (errno.ENOSYS, errno.EPERM):
                raise
        return _walked(folder, parts)
    except OSError as error:
        said = _WORDS.get(error.errno or 0, f"cannot be opened: {error.strerror}")
        raise Refusal(said) from error


class _How(ctypes.Structure):
    _fields_ = (
        ("flags", ctypes.c_uint64),
        ("mode", ctypes.c_uint64),
        ("resolve", ctypes.c_uint64),
    )


def _resolved(folder: int, path: str) -> int:
    how = _How(_PATH_ONLY, 0, _RESOLVE)
    libc = ctypes.CDLL(None, use_errno=True)
    number, size = ctypes.c_long(_OPENAT2), ctypes.c_size_t(ctypes.sizeof(how))
    found = libc.syscall(number, ctypes.c_int(folder), os.fsencode(path), ctypes.byref(how), size)
    if found < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return int(found)


def _walked(folder: int, parts: tuple[str, ...]) -> int:
    """The same, step by step."""
    device = os.fstat(folder).st_dev
    current = os.open(".", _PATH_ONLY | os.O_DIRECTORY, dir_fd=folder)
    for part in parts:
        try:
            following = os.open(part, _PATH_ONLY, dir_fd=current)
        finally:
            os.close(current)
        current = following
        if os.fstat(current).st_dev != device:
            os.close(current)
            raise OSError(errno.EXDEV, os.strerror(errno.EXDEV))
    return current
