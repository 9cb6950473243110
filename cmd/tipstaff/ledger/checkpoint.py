"""The witness: a second folder with a key of its own that remembers the heads of trails.

It shows what a chain alone cannot: a cut tail, an older file put back, a history written anew. It holds against
whoever can write the state folder but not this one; who can write both, and read the key, can forge both.
"""

from __future__ import annotations

import json
import os
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from tipstaff.documents.audit import Checkpoint
from tipstaff.documents.base import parse
from tipstaff.documents.strict_json import canonical, loads
from tipstaff.errors import ContractError, EvidenceError
from tipstaff.files import locked, private_folder, read_regular, write_atomically
from tipstaff.ledger import faults

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

# A holder works for milliseconds; one that is stopped must not stop everybody else for good.
LOCK_SECONDS = 30.0
_SMALL = 1 << 16


class Witness:
    """Signed checkpoints by trail id, which trail was first seen where, and all checkpoints ever signed.

    Methods raise ``EvidenceError`` where a document in the folder is not what was written, else ``OSError``.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder.absolute()
        self._key: Ed25519PrivateKey | None = None

    def known(self, state: Path) -> str | None:
        """The id of the trail first seen in this state folder."""
        file = self.location(state)
        try:
            data = read_regular(file, limit=_SMALL)
        except FileNotFoundError:
            return None
        try:
            trail = loads(data)["trail"]
        except (ContractError, TypeError, KeyError) as error:
            raise _altered(file, "is not what was written") from error
        return str(trail)

    def meet(self, state: Path, trail: str) -> None:
        """Remember that this state folder holds this trail."""
        place = {"schema_version": 1, "state": _real_path(state), "trail": trail}
        write_atomically(self.location(state), canonical(place) + b"\n")

    def part(self, state: Path) -> None:
        """Forget which trail this folder holds; the trail's checkpoints stay."""
        self.location(state).unlink(missing_ok=True)

    def location(self, state: Path) -> Path:
        """The file that says which trail a state folder holds."""
        name = sha256(_real_path(state).encode()).hexdigest()[:32]
        return self.folder / "locations" / f"{name}.json"

    def file(self, trail: str) -> Path:
        """The file with the last checkpoint of a trail."""
        return self.folder / f"{trail}.json"

    def latest(self, trail: str) -> Checkpoint | None:
        """The last checkpoint, its signature checked; None where there is none."""
        file = self.file(trail)
        try:
            data = read_regular(file, limit=_SMALL)
        except FileNotFoundError:
            return None
        try:
            checkpoint = parse(Checkpoint, loads(data))
        except ContractError as error:
            raise _altered(file, "is not a checkpoint") from error
        if checkpoint.trail != trail:
            raise _altered(file, "belongs to another trail")
        if not self.is_signed(checkpoint):
            raise _altered(file, "was not signed by the witness's key")
        return checkpoint

    def history(self, trail: str) -> list[Checkpoint]:
        """All checkpoints of a trail in the order of signing. Signatures are not checked; torn lines are left out."""
        found = []
        try:
            with (self.folder / "checkpoints.jsonl").open("rb") as file:
                for line in file:
                    if trail.encode() in line:
                        found += _checkpoint(line, trail)
        except FileNotFoundError:
            return []
        return found

    def is_signed(self, checkpoint: Checkpoint) -> bool:
        """Whether the signature is this witness's own. Raises ``EvidenceError`` where the key is gone."""
        from cryptography.exceptions import InvalidSignature

        fields = checkpoint.model_dump()
        signature = fields.pop("signature")
        try:
            public = self._signing_key(create=False).public_key()
            public.verify(bytes.fromhex(signature), canonical(fields))
        except (InvalidSignature, ValueError):
            return False
        return True

    def sign(self, trail: str, *, seq: int, head: str, at: str) -> Checkpoint:
        """Sign and keep a checkpoint. Refuses (``trail.rolled_back``) one older than the last of that trail."""
        private_folder(self.folder)
        with locked(self.folder / "lock", timeout_s=LOCK_SECONDS):
            last = self.latest(trail)
            if last is not None and last.seq > seq:
                raise faults.rolled_back(self.file(trail), last.seq, seq)
            fields = {"schema_version": 1, "trail": trail, "seq": seq, "hash": head, "at": at}
            # Where checkpoints exist, a missing key is a loss, and a new one would hide it.
            is_first = not (self.folder / "checkpoints.jsonl").exists()
            signature = self._signing_key(create=is_first).sign(canonical(fields)).hex()
            checkpoint = parse(Checkpoint, {**fields, "signature": signature})
            data = canonical(checkpoint.model_dump()) + b"\n"
            self._append_history(data)
            write_atomically(self.file(trail), data)
        return checkpoint

    def _append_history(self, line: bytes) -> None:
        with open(self.folder / "checkpoints.jsonl", "a+b", opener=_private) as file:
            if file.tell() > 0:
                file.seek(-1, 2)
                line = line if file.read(1) == b"\n" else b"\n" + line
            file.write(line)

    def _signing_key(self, *, create: bool) -> Ed25519PrivateKey:
        if self._key is None:
            self._key = _load_key(self.folder / "key.pem", create=create)
        return self._key


def _load_key(file: Path, *, create: bool) -> Ed25519PrivateKey:
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import ed25519

    try:
        key = serialization.load_pem_private_key(read_regular(file, limit=_SMALL), password=None)
    except FileNotFoundError as error:
        if not create:
            raise _altered(file, "is missing, so checkpoints can't be checked") from error
        key = ed25519.Ed25519PrivateKey.generate()
        write_atomically(
            file,
            key.private_bytes(
                serialization.Encoding.PEM,
                serialization.PrivateFormat.PKCS8,
                serialization.NoEncryption(),
            ),
        )
    except (ValueError, TypeError) as error:
        raise _altered(file, "is not a private key") from error
    if not isinstance(key, ed25519.Ed25519PrivateKey):
        raise _altered(file, "is not an Ed25519 key")
    return key


def _checkpoint(line: bytes, trail: str) -> list[Checkpoint]:
    try:
        checkpoint = Checkpoint.model_validate_json(line)
    except ValueError:
        return []
    return [checkpoint] if checkpoint.trail == trail else []


def _altered(file: Path, what: str) -> EvidenceError:
    return EvidenceError(
        "checkpoint.altered",
        f"the witness's document {what}",
        file=str(file),
        fix="restore the witness folder from a backup",
    )


def _real_path(state: Path) -> str:
    return json.dumps(str(state.resolve()))[1:-1]


def _private(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
