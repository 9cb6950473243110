"""Which trail a state folder holds: its id, kept there and, since it was first seen, by the witness."""

from __future__ import annotations

import secrets
from pathlib import Path

from tipstaff.errors import EvidenceError
from tipstaff.ledger import faults
from tipstaff.ledger.checkpoint import Witness
from tipstaff.ledger.files import read_regular, write_atomically

TRAIL_ID = "audit-trail.id"


def identify(state: Path, witness: Witness, *, is_empty: bool) -> str:
    """The id of the trail, made and made known where it is new.

    Raises ``EvidenceError``: ``trail.swapped`` where the witness knows another trail in this place, and
    ``trail.unwitnessed`` where there are records without an id.
    """
    file = state / TRAIL_ID
    known = witness.known(state)
    trail = read_id(file)
    if trail is None:
        if known is None and not is_empty:
            raise faults.unwitnessed(file, witness.folder)
        trail = known or secrets.token_hex(16)
        write_atomically(file, trail.encode() + b"\n")
    if known is None:
        witness.meet(state, trail)
    elif known != trail:
        place = witness.location(state)
        raise EvidenceError(
            "trail.swapped",
            f"the witness first saw trail {known} in this folder, but it says {trail}",
            file=str(file),
            fix=f"put the first trail back; if this one was moved here on purpose, remove {place}",
        )
    return trail


def read_id(file: Path) -> str | None:
    """The trail id kept in the state folder; None where there is none or it is malformed."""
    try:
        trail = read_regular(file, limit=64).decode("ascii", "replace").strip()
    except FileNotFoundError:
        return None
    return trail if len(trail) == 32 and set(trail) <= set("0123456789abcdef") else None
