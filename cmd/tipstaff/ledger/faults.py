"""The ways a trail can fail its writer or reader, each as the error a person sees."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tipstaff.errors import EvidenceError


def corrupt(path: Path, line: int, message: str) -> EvidenceError:
    """A line that is not what was written."""
    return EvidenceError(
        "trail.corrupt",
        message,
        file=str(path),
        field=f"line {line}",
        fix="see `tipstaff audit verify`; restore the trail, or a person runs `tipstaff audit restart`",
    )


def rolled_back(path: Path, witnessed: int, found: int) -> EvidenceError:
    """The trail has lost records that were witnessed."""
    return EvidenceError(
        "trail.rolled_back",
        f"the witness saw record {witnessed}, but the trail ends at {found}",
        file=str(path),
        fix="put the complete trail back, or a person runs `tipstaff audit restart`",
    )


def rewritten(path: Path, seq: int) -> EvidenceError:
    """A witnessed record is another one now."""
    return EvidenceError(
        "trail.rewritten",
        f"record {seq} is not the one the witness saw, so this history was written anew",
        file=str(path),
        fix="restore the trail, or a person runs `tipstaff audit restart`",
    )


def unwitnessed(path: Path, witness: Path) -> EvidenceError:
    """There are records, and the witness knows nothing of them."""
    return EvidenceError(
        "trail.unwitnessed",
        "the trail has records, but the witness has no checkpoint of it",
        file=str(path),
        fix=f"restore {witness}, or a person runs `tipstaff audit restart`",
    )


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Turn ``OSError`` into ``EvidenceError`` (``trail.unwritable``)."""
    try:
        yield
    except OSError as error:
        raise EvidenceError(
            "trail.unwritable",
            f"the audit trail can't be written: {error.strerror or error}",
            file=str(error.filename or path),
            fix="free disk space or make the folder writable; without a record nothing is done",
        ) from error


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Turn ``OSError`` into ``EvidenceError`` (``trail.unreadable``)."""
    try:
        yield
    except OSError as error:
        raise EvidenceError(
            "trail.unreadable",
            f"the audit trail or its witness can't be read: {error.strerror or error}",
            file=str(error.filename or path),
            fix="make the file readable for you",
        ) from error
