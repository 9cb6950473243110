"""Bundles: Rego and data, built with the reduced capabilities, signed, and read back only when the signatures hold.

A bundle's revision names its number in the order of releases and the digest of its source. It is in the manifest, which
OPA reports with each answer, and in the data as ``data.<name>.bundle``, which rules hold against what is expected.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from tipstaff.errors import ContractError, DecisionError
from tipstaff.files import read_regular, write_atomically
from tipstaff.pdp import archive, identity, signing
from tipstaff.pdp.identity import Issue
from tipstaff.pdp.opa import Opa
from tipstaff.pdp.places import cache_home
from tipstaff.pdp.signing import new_key, public_key
from tipstaff.pdp.source import OVERLAY, SHIPPED, Source, read
from tipstaff.pdp.threshold import ALONE, Signers, demand, signatures_file

__all__ = [
    "OVERLAY",
    "SHIPPED",
    "Bundle",
    "Issue",
    "build",
    "issue",
    "new_key",
    "overlay",
    "overlay_file",
    "overlay_is_current",
    "public_key",
    "source_digest",
]


@dataclass(frozen=True)
class Bundle:
    """A signed bundle: the root it owns, its file, what it says of itself, and the key (PEM) that vouches for it.

    ``sequence``, ``expires_at`` and ``reissues`` are as in ``Issue``; ``digest`` is the SHA-256 of all that is signed;
    ``signers`` are the keys that had to sign besides.
    """

    name: str
    file: Path
    revision: str
    data_digest: str
    public_key: str
    source_digest: str = ""
    sequence: int = 0
    expires_at: str | None = None
    reissues: str | None = None
    digest: str = ""
    signers: Signers = field(default=ALONE)


def build(
    opa: Opa, source: Path, *, name: str, key: Path, out: Path, as_issue: Issue | None = None
) -> Bundle:
    """Compile, sign with the private key file and write ``out`` whole; tests and strange files stay outside.

    Raises ``ContractError`` (``policy.invalid``) with OPA's own file and line, ``key.unreadable``.
    """
    data, bundle = issue(opa, read(source, name), key=key, out=out, as_issue=as_issue or Issue())
    out.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(out, data, mode=0o644)
    return bundle


def issue(
    opa: Opa, source: Source, *, key: Path, out: Path, as_issue: Issue
) -> tuple[bytes, Bundle]:
    """The bytes of a signed bundle of this source, for the file ``out``, which is not written here."""
    from tipstaff.pdp.building import compile_signed

    public = public_key(key)
    files = compile_signed(opa, source, key, identity.identify(source, as_issue))
    data = archive.pack(files)
    return data, _bundle(signing.verify(data, public, out), source.name, out, public)


def source_digest(folder: Path, name: str) -> str:
    """The digest that a bundle built of this source carries."""
    return read(folder, name).digest


def overlay_file(folder: Path) -> Path:
    """Where the signed bundle of an overlay lies: beside its folder, as ``policy.tar.gz`` beside ``policy``.

    Inside, plain ``opa test policy/`` would load the bundle as well and find every rule twice.
    """
    return folder.with_name(f"{folder.name}.tar.gz")


def overlay(folder: Path, public: str, signers: Signers = ALONE) -> Bundle | None:
    """The team's signed bundle; None where there is neither it nor any Rego in the folder.

    Raises ``DecisionError``: ``bundle.unsigned`` where only the source lies there, ``bundle.signature`` where the file
    is not what the key signed, ``bundle.threshold`` where too few signed it.
    """
    file = overlay_file(folder)
    if file.exists():
        return load(file, OVERLAY, public, signers)
    if next(folder.rglob("*.rego"), None) is None:
        return None
    raise DecisionError(
        "bundle.unsigned",
        "the overlay's Rego was never built and signed, so its rules would be absent",
        file=str(folder),
        fix="run `tipstaff policy sign`, or remove the overlay's Rego",
    )


def overlay_is_current(folder: Path) -> bool:
    """Whether the bundle beside the folder was built from what is in it. Says nothing about its signature."""
    found = claims(overlay_file(folder), OVERLAY)
    try:
        return bool(found) and found["source_digest"] == source_digest(folder, OVERLAY)
    except (OSError, KeyError, ContractError):
        return False


def claims(file: Path, name: str) -> dict[str, Any]:
    """What a file says it is, unverified; empty where it says nothing that can be read."""
    try:
        files = archive.unpack(_bytes(file))
        return asdict(identity.read(json.loads(files["data.json"])[name]["bundle"]))
    except (DecisionError, ValueError, KeyError, TypeError, RecursionError):
        return {}


def load(file: Path, name: str, public: str, signers: Signers = ALONE) -> Bundle:
    """Read a bundle whose signatures hold.

    That exactly these bytes were accepted for these keys is remembered in the cache, which saves loading the
    cryptography; the sidecar verifies the bytes again before it starts, and so does OPA.
    """
    data = _bytes(file)
    others = _others(file) if signers.threshold > 1 else b""
    asked = json.dumps([name, public, signers.threshold, signers.public_keys]).encode()
    parts = (hashlib.sha256(part).digest() for part in (asked, data, others))
    memory = (
        cache_home()
        / "bundles"
        / "accepted"
        / f"{hashlib.sha256(b''.join(parts)).hexdigest()}.json"
    )
    try:
        known = json.loads(memory.read_bytes())
        digest = str(known.pop("digest"))
        return _made(identity.read(known), digest, name, file, public, signers)
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        bundle = _verified(data, name, file, public, signers)
    known = {key: getattr(bundle, key) for key in (*identity.Identity.__annotations__, "digest")}
    try:
        memory.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_atomically(memory, json.dumps(known).encode())
    except OSError:
        return bundle  # a read-only cache costs one verification a run, nothing else
    return bundle


def check(bundle: Bundle, data: bytes) -> None:
    """Verify bytes read from the bundle's file, now and in full.

    Raises ``DecisionError`` (``bundle.signature``, ``bundle.threshold``).
    """
    found = _verified(data, bundle.name, bundle.file, bundle.public_key, bundle.signers)
    if found != bundle:
        raise _refused(bundle.file, "the file changed after it was read")


def content(bundle: Bundle) -> bytes:
    """The bytes of the bundle's file as it is now; raises ``DecisionError`` (``bundle.signature``)."""
    return _bytes(bundle.file)


def _verified(data: bytes, name: str, file: Path, public: str, signers: Signers) -> Bundle:
    bundle = _bundle(signing.verify(data, public, file), name, file, public, signers)
    demand(data, name, file, public, signers)
    return bundle


def _others(file: Path) -> bytes:
    """The further signatures, as far as they can be read; who demands them says what is wrong with them."""
    try:
        return read_regular(signatures_file(file), limit=archive.MAX_BYTES)
    except OSError:
        return b""


def _bundle(
    files: dict[str, bytes], name: str, file: Path, public: str, signers: Signers = ALONE
) -> Bundle:
    """What verified files say about themselves; they must own exactly the root ``name``."""
    try:
        manifest = json.loads(files[".manifest"])
        if manifest["roots"] != [name]:
            raise DecisionError(
                "bundle.roots",
                f"the bundle claims {json.dumps(manifest['roots'])}, and not only {json.dumps(name)}",
                file=str(file),
                fix=f'build it with the roots ["{name}"]',
            )
        facts = json.loads(files["data.json"])[name]["bundle"]
        if manifest["revision"] != facts["revision"] or manifest["metadata"] != facts:
            raise ValueError("the manifest and the data name different revisions")
        digests = ((path, hashlib.sha256(files[path]).hexdigest()) for path in sorted(files))
        signed = [pair for pair in digests if pair[0] != signing.SIGNATURES]
        digest = hashlib.sha256(json.dumps(signed).encode()).hexdigest()
        return _made(identity.read(facts), digest, name, file, public, signers)
    except (ValueError, KeyError, TypeError) as error:
        raise _refused(file, f"it is no bundle of {name}: {error}") from error


def _made(
    said: identity.Identity, digest: str, name: str, file: Path, public: str, signers: Signers
) -> Bundle:
    return Bundle(
        name=name, file=file, public_key=public, digest=digest, signers=signers, **said.document()
    )


def _bytes(file: Path) -> bytes:
    try:
        return read_regular(file.resolve(strict=True), limit=archive.MAX_BYTES)
    except OSError as error:
        raise _refused(file, error.strerror or str(error)) from error


def _refused(file: Path, why: str) -> DecisionError:
    return DecisionError(
        "bundle.signature",
        why,
        file=str(file),
        fix="build and sign the bundle again, or restore the file",
    )
