"""The latest time at which a project decided, so that a clock that is set back is seen.

One copy lies beside the marks of its bundles and one with their witness; the later counts. It is a fact for the rules,
which say what follows from it.
"""

from __future__ import annotations

import os
import re
from contextlib import suppress
from datetime import datetime, timedelta
from pathlib import Path

from tipstaff.files import read_regular, write_atomically
from tipstaff.ledger import faults
from tipstaff.pdp.marks import Marks

# How often the time is kept, not how far it may go back, which the rules' data says. Written this seldom, it
# costs a decision nothing; a clock that is set back within it goes unseen.
STEP = timedelta(minutes=1)
_FORM = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z")
_LIMIT = 64


class Clock:
    """The latest time of one project, by state folder."""

    def __init__(self, state: Path) -> None:
        marks = Marks(state)
        self.file, self.witness = (
            file.with_suffix(".clock") for file in (marks.file, marks.witness)
        )
        self._read: dict[Path, tuple[tuple[int, int, int], str]] = {}

    def latest(self) -> str | None:
        """RFC 3339 in UTC with microseconds; None where none was kept, other text where a copy is damaged."""
        kept = [text for text in self._copies() if text is not None]
        strange = [text for text in kept if not _FORM.fullmatch(text)]
        return strange[0] if strange else max(kept, default=None)

    def advance(self, now: str) -> None:
        """Keep a time that is well past the latest one, and make up for a lost copy; a damaged one stays.

        Raises ``EvidenceError`` (``trail.unwritable``).
        """
        latest = self.latest() or now
        with suppress(ValueError):
            is_well_past = datetime.fromisoformat(now) > datetime.fromisoformat(latest) + STEP
            if is_well_past or None in self._copies():
                self.reset(max(now, latest))

    def reset(self, now: str) -> None:
        """Begin anew from this time, whatever the copies say. Raises ``EvidenceError`` (``trail.unwritable``)."""
        for file in (self.witness, self.file):
            with faults.writing(file):
                write_atomically(file, now.encode())

    def _copies(self) -> list[str | None]:
        return [self._copy(file) for file in (self.witness, self.file)]

    def _copy(self, file: Path) -> str | None:
        """What a copy says; one that has not changed since is not read again."""
        try:
            found = os.lstat(file)
            state = (found.st_mtime_ns, found.st_ino, found.st_size)
            known = self._read.get(file)
            if known is None or known[0] != state:
                text = read_regular(file, limit=_LIMIT).decode(errors="replace")
                self._read[file] = known = (state, text)
            return known[1]
        except FileNotFoundError:
            return None
        except OSError:
            return ""
