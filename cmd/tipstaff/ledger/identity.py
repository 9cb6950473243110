"""Which trail a state folder holds: its id, kept there and, since it was first seen, by the witness."""

from __future__ import annotations

import secrets
from pathlib import Path

from tipstaff.documents.base import Json
from tipstaff.errors import EvidenceError
from tipstaff.files import private_folder, read_regular, sync_folder, write_atomically
from tipstaff.ledger import faults
from tipstaff.ledger.checkpoint import Witness

TRAIL = "audit-trail.jsonl"
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
        raise EvidenceError(
            "trail.swapped",
            f"the witness first saw trail {known} in this folder, but it says {trail}",
            file=str(file),
            fix="put the first trail back, or a person runs `tipstaff audit restart`",
        )
    return trail


def set_aside(state: Path, witness: Witness, name: str) -> Json:
    """Move the trail and its id to ``set-aside/<name>`` and have the witness forget the place; what was there.

    The caller makes sure that nobody appends meanwhile. Raises ``OSError``.
    """
    trail = witness.known(state) or read_id(state / TRAIL_ID)
    try:
        latest = witness.latest(trail) if trail else None
    except EvidenceError:
        latest = None
    folder = state / "set-aside" / name
    private_folder(folder.parent)
    private_folder(folder)
    for file in (state / TRAIL, state / TRAIL_ID):
        if file.exists():
            file.rename(folder / file.name)
    sync_folder(state)
    witness.part(state)
    return {
        "trail": trail,
        "witnessed_seq": latest.seq if latest else None,
        "witnessed_hash": latest.hash if latest else None,
        "set_aside": f"set-aside/{name}",
    }


def read_id(file: Path) -> str | None:
    """The trail id kept in the state folder; None where there is none or it is malformed."""
    try:
        trail = read_regular(file, limit=64).decode("ascii", "replace").strip()
    except FileNotFoundError:
        return None
    return trail if len(trail) == 32 and set(trail) <= set("0123456789abcdef") else None
