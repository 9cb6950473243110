"""What a person hands to a sandbox and gets from it: a private copy of a folder in, collected files out.

Neither follows a link. A copy keeps the links of the original, which lead nowhere inside.
"""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import BinaryIO

from tipstaff.errors import ContractError
from tipstaff.sandbox.backend import SCRATCH

MAX_INPUT_BYTES = 1 << 30
MAX_INPUT_ENTRIES = 100_000
MAX_INPUT_DEPTH = 100
_CHUNK_BYTES = 1 << 20
_FILE, _FOLDER = 0o644, 0o755
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


@dataclass
class _Counted:
    entries: int = 0
    size: int = 0
    depth: int = 0

    def add(self, place: Path, status: os.stat_result) -> None:
        self.entries += 1
        self.size += status.st_size if stat.S_ISREG(status.st_mode) else 0
        if self.entries > MAX_INPUT_ENTRIES or self.size > MAX_INPUT_BYTES:
            raise _refusal(
                place,
                f"with it the folder is more than {MAX_INPUT_ENTRIES} entries or {MAX_INPUT_BYTES >> 30} GiB",
                "name a smaller folder",
            )

    @contextmanager
    def deeper(self, place: Path) -> Iterator[None]:
        """One folder further down."""
        self.depth += 1
        if self.depth > MAX_INPUT_DEPTH:
            raise _refusal(place, f"is deeper than {MAX_INPUT_DEPTH} folders", "leave it out")
        yield
        self.depth -= 1


def copy_in(source: Path, target: Path) -> None:
    """Copy a folder into one that does not exist yet.

    Raises ``ContractError`` (``sandbox.input``), with nothing left, for one that is absent, a link, unreadable, too
    large or too deep, or holds a socket, a pipe or a device, or a file that grows meanwhile.
    """
    try:
        folder = os.open(source, _READ | os.O_DIRECTORY)
    except OSError as error:
        link = source.is_symlink()
        raise _refusal(
            source,
            "is a link" if link else error.strerror or str(error),
            "name a folder that you can read",
        ) from error
    try:
        target.mkdir()
        _copy_all(folder, source, target, _Counted())
    except BaseException:
        shutil.rmtree(target, ignore_errors=True)
        raise
    finally:
        os.close(folder)


def _copy_all(folder: int, source: Path, target: Path, counted: _Counted) -> None:
    for name in _listed(folder, source):
        place = source / name
        try:
            status = os.stat(name, dir_fd=folder, follow_symlinks=False)
            counted.add(place, status)
            _copy(folder, name, status, target / name, (place, counted))
        except OSError as error:
            raise _unreadable(place, error) from error


def _listed(folder: int, place: Path) -> list[str]:
    try:
        return sorted(os.listdir(folder))
    except OSError as error:
        raise _unreadable(place, error) from error


def _unreadable(place: Path, error: OSError) -> ContractError:
    return _refusal(place, error.strerror or str(error), "make it readable")


def _copy(
    folder: int, name: str, seen: os.stat_result, target: Path, note: tuple[Path, _Counted]
) -> None:
    place, counted = note
    kind = stat.S_IFMT(seen.st_mode)
    if kind == stat.S_IFLNK:
        target.symlink_to(os.readlink(name, dir_fd=folder))
    elif kind == stat.S_IFDIR:
        inner = os.open(name, _READ | os.O_DIRECTORY, dir_fd=folder)
        try:
            target.mkdir()
            with counted.deeper(place):
                _copy_all(inner, place, target, counted)
        finally:
            os.close(inner)
    elif kind == stat.S_IFREG:
        with open(os.open(name, _READ, dir_fd=folder), "rb") as reader, target.open("xb") as writer:
            status = os.fstat(reader.fileno())
            if not stat.S_ISREG(status.st_mode) or not _poured(reader, writer, seen.st_size):
                raise _refusal(place, "changed while it was copied", "copy what stands still")
            os.fchmod(writer.fileno(), _FILE | status.st_mode & 0o111)
    else:
        raise _refusal(place, "is a socket, a pipe or a device", "leave it out of the folder")


def _poured(reader: BinaryIO, writer: BinaryIO, size: int) -> bool:
    """Copy a file; False, with no more than ``size`` bytes written, where it has more by now."""
    while chunk := reader.read(_CHUNK_BYTES):
        size -= len(chunk)
        if size < 0:
            return False
        writer.write(chunk)
    return True


def place(path: str) -> str:
    """Where an output that a person asks for lies inside; a relative path is below ``/scratch``.

    Raises ``ContractError`` (``sandbox.collect``) for one elsewhere, or in a spelling that means more than it shows.
    """
    parts = PurePosixPath(path).parts
    inside = PurePosixPath(SCRATCH, path)
    if (
        not path.isprintable()
        or not path.strip()
        or ".." in parts
        or not inside.is_relative_to(SCRATCH)
    ):
        raise ContractError(
            "sandbox.collect",
            f"{path!r} is no path below {SCRATCH}",
            field="--collect",
            fix=f"name a file or folder that the command writes below {SCRATCH}",
        )
    return str(inside)


def fresh(folder: Path) -> None:
    """Raise ``ContractError`` (``sandbox.out``) unless a folder can be made there, or is there and empty."""
    try:
        if folder.is_symlink() or any(folder.iterdir()):
            raise _out(folder, "is a link, or is not empty")
    except FileNotFoundError:
        if not folder.absolute().parent.is_dir():
            raise _out(folder, "lies in no folder") from None
    except OSError as error:
        raise _out(folder, error.strerror or str(error)) from error


def deliver(files: Mapping[str, bytes], folder: Path) -> dict[str, Path]:
    """Write collected files into a fresh folder, by their paths below ``/scratch``; plain modes, nothing replaced.

    Raises ``ContractError`` (``sandbox.out``) where that cannot be.
    """
    fresh(folder)
    written: dict[str, Path] = {}
    try:
        folder.mkdir(mode=_FOLDER, exist_ok=True)
        for name, data in sorted(files.items()):
            target = folder / PurePosixPath(name).relative_to(SCRATCH)
            target.parent.mkdir(mode=_FOLDER, parents=True, exist_ok=True)
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
            with open(os.open(target, flags, _FILE), "wb") as writer:
                writer.write(data)
            written[name] = target
    except OSError as error:
        raise _out(folder, f"{error.filename}: {error.strerror}") from error
    return written


def _out(folder: Path, complaint: str) -> ContractError:
    return ContractError(
        "sandbox.out",
        f"{folder}: {complaint}",
        field="--out",
        fix="name a folder that does not exist yet, in one that does",
    )


def _refusal(path: Path, complaint: str, fix: str) -> ContractError:
    return ContractError(
        "sandbox.input", f"{path}: {complaint}", file=str(path), field="--input", fix=fix
    )
