"""Signatures of further people on one bundle: k different keys of those that the team names must have signed it.

The bundle's own signature is the first. Others lie in a file beside the bundle, each over a digest of its very bytes
and its name, so that none can be carried over to another file or another use.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from tipstaff.errors import ContractError, DecisionError
from tipstaff.files import read_named, read_regular, write_atomically
from tipstaff.pdp import archive, signing

_PURPOSE = b"tipstaff/bundle-cosignature/1\0"
_LIMIT = 1 << 16


@dataclass(frozen=True)
class Signers:
    """Who may sign besides the bundle's own key (PEM each), and how many different keys must have signed in all."""

    public_keys: tuple[str, ...] = ()
    threshold: int = 1


ALONE = Signers()


def signatures_file(bundle: Path) -> Path:
    """Where the further signatures of a bundle lie: beside it."""
    return bundle.with_name(f"{bundle.name}.signatures.json")


def demand(data: bytes, name: str, file: Path, public: str, signers: Signers) -> int:
    """How many different keys signed these bytes, the bundle's own, which was verified before, included.

    Raises ``DecisionError`` (``bundle.threshold``) where they are fewer than asked for, or where any signature beside
    the bundle is not by a key of the team on exactly this file. Without a threshold the file beside is not read.
    """
    if signers.threshold <= 1:
        return 1
    known = {signing.fingerprint(key): key for key in (public, *signers.public_keys)}
    beside = signatures_file(file)
    if signers.threshold > len(known):
        _refuse(
            file, f"{signers.threshold} must sign, and the team names {len(known)} different keys"
        )
    signed = {signing.fingerprint(public)}
    for entry in _read(beside):
        key, mark = entry["key"], entry["signature"]
        if key not in known:
            _refuse(beside, f"the key {key} is none of the team's")
        if key in signed:
            _refuse(beside, f"the key {key} signed twice")
        try:
            signing.check(_decode(mark), _message(data, name), known[key])
        except ValueError as error:
            _refuse(beside, f"the signature of {key} is not on this file: {error}")
        signed.add(key)
    if len(signed) < signers.threshold:
        _refuse(file, f"{len(signed)} of {signers.threshold} signatures are there")
    return len(signed)


def add(file: Path, name: str, key: Path, public: str, signers: Signers) -> int:
    """Add this private key's signature to those beside the bundle; how many have signed now.

    Nobody puts a name to what the bundle's own key (PEM) did not sign: raises ``DecisionError`` (``bundle.signature``).
    Raises ``ContractError``: ``key.unknown`` for a key that the team does not name, ``key.signed`` for one that has.
    """
    data = _signed(file, public)
    mine = signing.public_key(key)
    print_of = signing.fingerprint(mine)
    if print_of not in {signing.fingerprint(one) for one in signers.public_keys}:
        raise ContractError(
            "key.unknown",
            f"the team's configuration does not name this key ({print_of})",
            file=str(key),
            field="policy.public_keys",
            fix="add its public half to policy.public_keys in tipstaff.yaml, or use a key that is there",
        )
    beside = signatures_file(file)
    entries = [entry for entry in _entries(beside) if _is_sound(entry, data, name, signers)]
    if print_of in {signing.fingerprint(public), *(entry["key"] for entry in entries)}:
        raise ContractError(
            "key.signed", "this key has signed the bundle", file=str(key), fix="use another key"
        )
    mark = base64.b64encode(signing.mark(_message(data, name), key)).decode("ascii")
    entries.append({"key": print_of, "signature": mark})
    write_atomically(beside, _document(entries), mode=0o644)
    return 1 + len(entries)


def _signed(file: Path, public: str) -> bytes:
    try:
        data = read_named(file, limit=archive.MAX_BYTES)
    except OSError as error:
        raise ContractError(
            "file.unreadable",
            error.strerror or str(error),
            file=str(file),
            fix="run `tipstaff policy sign`, or restore the file",
        ) from error
    signing.verify(data, public, file)
    return data


def _is_sound(entry: dict[str, str], data: bytes, name: str, signers: Signers) -> bool:
    """Whether a signature is on this very file; those on an earlier one are dropped when another is added."""
    known = {signing.fingerprint(key): key for key in signers.public_keys}
    try:
        signing.check(_decode(entry["signature"]), _message(data, name), known[entry["key"]])
    except (ValueError, KeyError):
        return False
    return True


def _message(data: bytes, name: str) -> bytes:
    return _PURPOSE + name.encode() + b"\0" + hashlib.sha256(data).digest()


def _document(entries: list[dict[str, str]]) -> bytes:
    document = {"schema_version": 1, "signatures": sorted(entries, key=lambda entry: entry["key"])}
    return json.dumps(document, indent=2).encode() + b"\n"


def _read(file: Path) -> list[dict[str, str]]:
    try:
        data = read_regular(file, limit=_LIMIT)
    except FileNotFoundError:
        return []
    except OSError as error:
        _refuse(file, error.strerror or str(error))
    try:
        entries = _shaped(json.loads(data))
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        _refuse(file, f"it is no list of signatures: {error}")
    if _document(entries) != data:
        _refuse(file, "it is not in the one form that tipstaff writes")
    return entries


def _entries(file: Path) -> list[dict[str, str]]:
    try:
        return _read(file)
    except DecisionError:
        return []


def _shaped(document: Any) -> list[dict[str, str]]:
    if set(document) != {"schema_version", "signatures"} or document["schema_version"] != 1:
        raise ValueError("it has other fields")
    entries = document["signatures"]
    for entry in entries:
        if set(entry) != {"key", "signature"} or not all(
            isinstance(value, str) for value in entry.values()
        ):
            raise ValueError("a signature has other fields")
    return list(entries)


def _decode(mark: str) -> bytes:
    try:
        data = base64.b64decode(mark, validate=True)
    except (binascii.Error, ValueError) as error:
        raise ValueError("not base64") from error
    if base64.b64encode(data).decode("ascii") != mark:
        raise ValueError("not base64 in its one form")
    return data


def _refuse(file: Path, why: str) -> NoReturn:
    raise DecisionError(
        "bundle.threshold",
        f"too few people have signed the bundle: {why}",
        file=str(file),
        fix="have another of the team's keys sign: `tipstaff policy sign --add --key FILE`",
    ) from None
