"""Files that commands leave for people to read and commit."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from tipstaff.errors import ContractError
from tipstaff.files import write_atomically


def write_text(file: Path, text: str) -> None:
    """Write the file whole, with its folders; raises ``ContractError`` (``file.unwritable``)."""
    demand_file(file)
    with writing(file):
        file.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(file, text.encode(), mode=0o644)


def demand_file(file: Path) -> None:
    """Raise ``ContractError`` (``file.unwritable``) where a folder, a pipe or a device stands in the file's place."""
    if file.exists() and not file.is_file():
        raise ContractError(
            "file.unwritable",
            "something that is no file is there",
            file=str(file),
            fix="name another file, or move what is there",
        )


def demand_room(file: Path) -> None:
    """Raise ``ContractError`` (``file.unwritable``) where the file could not be written now; nothing is left behind."""
    demand_file(file)
    with writing(file):
        above = next(folder for folder in file.absolute().parents if os.path.lexists(folder))
        with tempfile.TemporaryFile(dir=above):
            return


def demand_absent(
    root: Path, files: Iterable[Path], *, code: str, otherwise: str, force: bool
) -> None:
    """Raise ``ContractError`` of this code where one of the files is there, be it a link to nothing, without ``force``.

    ``otherwise`` is what one may do but overwrite them.
    """
    present = [str(file.relative_to(root)) for file in files if file.exists() or file.is_symlink()]
    if present and not force:
        raise ContractError(
            code,
            f"already there: {', '.join(present)}",
            file=str(root),
            fix=f"{otherwise}, or run again with --force to overwrite them",
        )


@contextmanager
def writing(file: Path) -> Iterator[None]:
    """Let an ``OSError`` while the file is written be a ``ContractError`` (``file.unwritable``)."""
    try:
        yield
    except OSError as error:
        raise ContractError(
            "file.unwritable",
            error.strerror or str(error),
            file=str(file),
            fix="make the file and its folder writable, or name another file",
        ) from error
