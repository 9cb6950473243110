"""Being the only process that acts upon one thing of a ledger."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from tipstaff.errors import EvidenceError
from tipstaff.files import locked, private_folder


@contextmanager
def hold(state: Path, name: str) -> Iterator[None]:
    """Wait for everybody else who holds this name, then be the only one; ``name`` is lower-case hex.

    The kernel ends a dead holder's hold. Raises ``EvidenceError`` (``store.unreadable``).
    """
    folder = state / "holds"
    with ExitStack() as stack:
        try:
            private_folder(folder)
            stack.enter_context(locked(folder / name, fleeting=True))
        except OSError as error:
            raise EvidenceError(
                "store.unreadable",
                f"the request can't be held: {error.strerror or error}",
                file=str(folder),
                fix="make the state folder writable for you",
            ) from error
        yield
