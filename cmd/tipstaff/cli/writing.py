"""Files that commands leave for people to read and commit."""

from __future__ import annotations

from collections.abc import Iterator
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
