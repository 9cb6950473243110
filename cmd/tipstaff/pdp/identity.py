"""What a bundle says of itself: its number in the order of releases, its revision, what it was made of, and its end."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from tipstaff import __version__
from tipstaff.pdp.source import OVERLAY, Source
from tipstaff.project import timestamp

# The largest whole number that every reader of JSON holds exactly.
LARGEST = 2**53 - 1
_SHOWN = 12


@dataclass(frozen=True)
class Issue:
    """What is decided when a bundle is issued.

    ``sequence`` orders the bundles of one root and signer. From ``expires_at`` (RFC 3339 in UTC) on, nothing is decided
    by it; None is never. ``reissues`` is the revision whose content comes back, if any.
    """

    sequence: int = 0
    expires_at: str | None = None
    reissues: str | None = None


@dataclass(frozen=True)
class Identity:
    """The document ``data.<name>.bundle``; the manifest's metadata say the same."""

    revision: str
    data_digest: str
    source_digest: str
    sequence: int
    expires_at: str | None
    reissues: str | None

    def document(self) -> dict[str, Any]:
        """As JSON."""
        return asdict(self)


def identify(source: Source, issue: Issue) -> Identity:
    """The identity of a bundle built from this source and issued so."""
    prefix = source.name if source.name == OVERLAY else __version__
    return Identity(
        f"{prefix}+{issue.sequence}.{source.digest[:_SHOWN]}",
        source.data_digest,
        source.digest,
        issue.sequence,
        issue.expires_at,
        issue.reissues,
    )


def read(facts: dict[str, Any]) -> Identity:
    """The identity in a verified bundle; raises ``ValueError``, ``KeyError`` or ``TypeError`` where it is none."""
    found = Identity(**facts)
    texts = (found.revision, found.data_digest, found.source_digest)
    if not all(isinstance(text, str) for text in texts):
        raise TypeError("a digest or the revision is not a text")
    if type(found.sequence) is not int or found.sequence < 0:
        raise ValueError("its number is not a whole number from zero")
    if found.reissues is not None and not isinstance(found.reissues, str):
        raise TypeError("the revision that it reissues is not a text")
    if found.expires_at is not None and moment(found.expires_at) != found.expires_at:
        raise ValueError("its end is not RFC 3339 in UTC")
    return found


def moment(text: str) -> str:
    """A point in time in the one form that a bundle has it in; raises ``ValueError``."""
    point = datetime.fromisoformat(text)
    if point.tzinfo is None:
        raise ValueError("it names no time zone")
    return timestamp(point)
