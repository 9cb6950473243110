"""The ways an approval file can fail, each as the error a person sees."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tipstaff.errors import EvidenceError


def corrupt(path: Path, line: int, message: str) -> EvidenceError:
    """A line that is not what could have been written there."""
    return EvidenceError(
        "store.corrupt",
        message,
        file=str(path),
        field=f"line {line}",
        fix="nothing is decided; restore the store, or remove a last line that was never finished",
    )


def untrusted(path: Path, line: int) -> EvidenceError:
    """An event without the MAC that the operator's key gives it."""
    return EvidenceError(
        "store.untrusted",
        "the operator's key does not vouch for this event in this place",
        file=str(path),
        field=f"line {line}",
        fix="find out who wrote it; restore the store, or start a new one",
    )


@contextmanager
def of(path: Path, patience_s: int) -> Iterator[None]:
    """Turn ``OSError`` into ``EvidenceError``: ``store.locked``, ``store.unreadable``."""
    try:
        yield
    except TimeoutError as error:
        raise EvidenceError(
            "store.locked",
            f"another program has held the store for {patience_s} seconds",
            file=str(path),
            fix="wait for it to end, then try again",
        ) from error
    except OSError as error:
        raise EvidenceError(
            "store.unreadable",
            f"the store can't be read or written: {error.strerror or error}",
            file=str(path),
            fix="name a plain file of yours, no link, in a folder that exists, and free disk space",
        ) from error
