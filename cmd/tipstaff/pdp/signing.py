"""Keys and signatures of bundles: ECDSA on P-256 with SHA-256, as OPA signs and verifies them.

A bundle counts as signed only when one ES256 signature by the expected key lists every file with its SHA-256, and
no other. OPA verifies again by itself when it activates the bundle.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tipstaff.errors import ContractError, DecisionError
from tipstaff.files import read_named
from tipstaff.pdp import archive

SIGNATURES = ".signatures.json"
_KEY_BYTES = 1 << 16
_FIX = "restore the file, or build and sign it again with a key whose public half is configured"


def new_key(path: Path) -> str:
    """Make a key, write its private PEM with mode 0600, return its public PEM.

    Raises ``ContractError`` (``key.exists``, ``key.unwritable``); an existing file is never overwritten.
    """
    from cryptography.hazmat.primitives import serialization as form
    from cryptography.hazmat.primitives.asymmetric import ec

    pem = ec.generate_private_key(ec.SECP256R1()).private_bytes(
        form.Encoding.PEM, form.PrivateFormat.PKCS8, form.NoEncryption()
    )
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        with os.fdopen(os.open(path, flags, 0o600), "wb") as stream:
            stream.write(pem)
    except FileExistsError as error:
        raise ContractError(
            "key.exists", "the file exists", file=str(path), fix="use it, or name another file"
        ) from error
    except OSError as error:
        raise ContractError(
            "key.unwritable", error.strerror or str(error), file=str(path), fix="name another file"
        ) from error
    return public_key(path)


def public_key(path: Path) -> str:
    """The public PEM of a private key file; raises ``ContractError`` (``key.unreadable``)."""
    from cryptography.hazmat.primitives import serialization as form

    public = _private(path).public_key()
    pem = public.public_bytes(form.Encoding.PEM, form.PublicFormat.SubjectPublicKeyInfo)
    return str(pem.decode("ascii"))


def fingerprint(public: str) -> str:
    """SHA-256 of the key itself, however its PEM is written; raises ``ContractError`` (``key.invalid``)."""
    from cryptography.hazmat.primitives import serialization as form

    der = _key(public).public_bytes(form.Encoding.DER, form.PublicFormat.SubjectPublicKeyInfo)
    return hashlib.sha256(der).hexdigest()


def sign(files: Mapping[str, bytes], key: Path) -> bytes:
    """The signature file over these files, as OPA reads it; JSON among them must be in its canonical form.

    Raises ``ContractError`` (``key.unreadable``).
    """
    listed = [
        {"name": name, "hash": hashlib.sha256(files[name]).hexdigest(), "algorithm": "SHA-256"}
        for name in sorted(files)
    ]
    parts = ({"alg": "ES256"}, {"files": listed})
    said = b".".join(_encode(json.dumps(part, separators=(",", ":")).encode()) for part in parts)
    return signatures((said + b"." + _encode(mark(said, key))).decode("ascii"))


def mark(message: bytes, key: Path) -> bytes:
    """64 bytes: the two numbers of an ES256 signature; raises ``ContractError`` (``key.unreadable``)."""
    from cryptography.hazmat.primitives import hashes
    from cryptography.hazmat.primitives.asymmetric import ec, utils

    pair = _private(key).sign(message, ec.ECDSA(hashes.SHA256()))
    return b"".join(number.to_bytes(32, "big") for number in utils.decode_dss_signature(pair))


def verify(data: bytes, public: str, file: Path) -> dict[str, bytes]:
    """The files of a bundle, after its form, its signature and each file's digest have been checked.

    Raises ``DecisionError`` (``bundle.signature``) that names ``file``, ``ContractError`` (``key.invalid``).
    """
    try:
        files = archive.unpack(data)
        listed = _listed(_token(files), public)
        if set(listed) != set(files) - {SIGNATURES}:
            raise ValueError("the signature lists other files than the bundle holds")
        for name, digest in listed.items():
            if hashlib.sha256(files[name]).hexdigest() != digest:
                raise ValueError(f"{name} is not what was signed")
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        raise DecisionError(
            "bundle.signature", f"the bundle is not accepted: {error}", file=str(file), fix=_FIX
        ) from error
    return files


def signatures(token: str) -> bytes:
    """The one form of the signature file that is accepted."""
    return json.dumps({"signatures": [token]}, separators=(",", ":")).encode()


def _token(files: Mapping[str, bytes]) -> str:
    if SIGNATURES not in files:
        raise ValueError("it is not signed")
    token = json.loads(files[SIGNATURES])["signatures"][0]
    if not isinstance(token, str) or signatures(token) != files[SIGNATURES]:
        raise ValueError("its signature file is not in the one form that is accepted")
    return token


def _listed(token: str, public: str) -> dict[str, str]:
    """File names and digests that the token vouches for."""
    head, payload, mark = token.split(".")
    if json.loads(_decode(head)).get("alg") != "ES256":
        raise ValueError("its signature is not ES256")
    check(_decode(mark), f"{head}.{payload}".encode("ascii"), public)
    listed: dict[str, str] = {}
    for item in json.loads(_decode(payload))["files"]:
        if item["algorithm"] != "SHA-256" or item["name"] in listed:
            raise ValueError(f"{item['name']} is listed twice or not by SHA-256")
        listed[item["name"]] = item["hash"]
    return listed


def check(mark: bytes, signed: bytes, public: str) -> None:
    """Raise ``ValueError`` unless the 64 bytes are this key's signature, ``ContractError`` (``key.invalid``)."""
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives import hashes
    from cryptography.hazmat.primitives.asymmetric import ec, utils

    if len(mark) != 64:
        raise ValueError("its signature has a wrong length")
    pair = utils.encode_dss_signature(
        int.from_bytes(mark[:32], "big"), int.from_bytes(mark[32:], "big")
    )
    try:
        _key(public).verify(pair, signed, ec.ECDSA(hashes.SHA256()))
    except InvalidSignature as error:
        raise ValueError("its signature is not by the expected key") from error


def _private(path: Path) -> Any:
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives import serialization as form
    from cryptography.hazmat.primitives.asymmetric import ec

    try:
        key = form.load_pem_private_key(read_named(path, limit=_KEY_BYTES), password=None)
    except (OSError, ValueError, TypeError, UnsupportedAlgorithm) as error:
        raise _unreadable(str(error), path) from error
    if not isinstance(key, ec.EllipticCurvePrivateKey) or not isinstance(key.curve, ec.SECP256R1):
        raise _unreadable("not an ECDSA key on P-256", path)
    return key


def _key(public: str) -> Any:
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives import serialization as form
    from cryptography.hazmat.primitives.asymmetric import ec

    try:
        key = form.load_pem_public_key(public.encode())
    except (ValueError, UnsupportedAlgorithm) as error:
        raise _invalid(str(error)) from error
    if not isinstance(key, ec.EllipticCurvePublicKey) or not isinstance(key.curve, ec.SECP256R1):
        raise _invalid("not an ECDSA key on P-256")
    return key


def _encode(data: bytes) -> bytes:
    return base64.urlsafe_b64encode(data).rstrip(b"=")


def _decode(part: str) -> bytes:
    """Base64url without padding, in its one form: no stray bits, no stray characters."""
    try:
        data = base64.b64decode(part + "=" * (-len(part) % 4), altchars=b"-_", validate=True)
    except binascii.Error as error:
        raise ValueError("its signature is not base64url") from error
    if base64.urlsafe_b64encode(data).rstrip(b"=").decode("ascii") != part:
        raise ValueError("its signature is not base64url in its one form")
    return data


def _unreadable(why: str, path: Path) -> ContractError:
    return ContractError(
        "key.unreadable", why, file=str(path), fix="name the PEM file of a P-256 private key"
    )


def _invalid(why: str) -> ContractError:
    return ContractError(
        "key.invalid",
        f"the public key can't be used: {why}",
        field="policy.public_key",
        fix="give the PEM of a P-256 public key, as `tipstaff init` writes it",
    )
