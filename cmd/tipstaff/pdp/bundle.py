"""Bundles: Rego and data, built with the reduced capabilities, signed, and read back only when the signature holds.

A bundle's revision is a digest of its content. It is in the manifest, which OPA reports with each answer, and in the
data as ``data.<name>.bundle``, which rules can hold against what the question expects.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tipstaff import declared
from tipstaff.errors import DecisionError
from tipstaff.files import read_regular, write_atomically
from tipstaff.pdp import archive, signing
from tipstaff.pdp.capabilities import FILE as CAPABILITIES
from tipstaff.pdp.opa import Opa
from tipstaff.pdp.places import cache_home, held, state_home
from tipstaff.pdp.signing import new_key, public_key
from tipstaff.pdp.source import OVERLAY, read

__all__ = [
    "OVERLAY",
    "SHIPPED",
    "Bundle",
    "build",
    "new_key",
    "overlay",
    "overlay_file",
    "overlay_is_current",
    "public_key",
    "shipped",
    "source_revision",
]

SHIPPED = "tipstaff"
_LOCK_S = 60.0


@dataclass(frozen=True)
class Bundle:
    """A signed bundle: the root it owns, its file, what it holds, and the key (PEM) that vouches for it."""

    name: str
    file: Path
    revision: str
    data_digest: str
    public_key: str


def build(opa: Opa, source: Path, *, name: str, key: Path, out: Path) -> Bundle:
    """Compile, sign with the private key file and write ``out`` whole; tests and strange files stay outside.

    Raises ``ContractError`` (``policy.invalid``) with OPA's own file and line, ``key.unreadable``.
    """
    from tipstaff.pdp.building import compile_signed

    public = public_key(key)
    files = compile_signed(opa, read(source, name), key.absolute())
    data = archive.pack(files)
    signing.verify(data, public, out)
    out.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(out, data, mode=0o644)
    return _bundle(files, name, out, public)


def source_revision(folder: Path, name: str) -> str:
    """The revision that a build of this source carries."""
    return read(folder, name).revision


def shipped(opa: Opa, say: Callable[[str], None]) -> Bundle:
    """Tipstaff's own bundle: the signed one of a release, or else one built here, once for each content.

    The key that signs here is made on first use and trusted nowhere else. Raises ``DecisionError``
    (``bundle.unsigned``, ``bundle.signature``, ``bundle.unbuilt``), ``ContractError`` (``policy.invalid``).
    """
    folder = declared.folder("policy")
    released = folder / f"{SHIPPED}.tar.gz"
    if not declared.is_checkout() and released.exists():
        return _released(released, folder / "release.pub")
    try:
        return _developed(opa, folder, say)
    except OSError as error:
        raise DecisionError(
            "bundle.unbuilt",
            f"the policy bundle can't be built here: {error}",
            file=error.filename,
            fix="make the cache and state folders of this user writable",
        ) from error


def _developed(opa: Opa, folder: Path, say: Callable[[str], None]) -> Bundle:
    key = _development_key()
    public = key.with_suffix(".pub").read_text()
    source = read(folder, SHIPPED)
    parts = (source.revision, public, (folder / CAPABILITIES).read_text(), opa.version)
    digest = hashlib.sha256("\0".join(parts).encode()).hexdigest()[:32]
    file = cache_home() / "bundles" / digest / f"{SHIPPED}.tar.gz"
    if not file.exists():
        file.parent.mkdir(parents=True, exist_ok=True)
        with held(file.parent / "lock", timeout_s=_LOCK_S):
            if not file.exists():
                say(f"building the policy bundle {source.revision}")
                return build(opa, folder, name=SHIPPED, key=key, out=file)
    return load(file, SHIPPED, public)


def overlay_file(folder: Path) -> Path:
    """Where the signed bundle of an overlay lies: beside its folder, as ``policy.tar.gz`` beside ``policy``.

    Inside, plain ``opa test policy/`` would load the bundle as well and find every rule twice.
    """
    return folder.with_name(f"{folder.name}.tar.gz")


def overlay(folder: Path, public: str | None) -> Bundle | None:
    """The team's signed bundle; None where there is neither it nor any Rego in the folder.

    Raises ``DecisionError``: ``bundle.unsigned`` where only the source lies there or no key is configured,
    ``bundle.signature`` where the file is not what the key signed.
    """
    file = overlay_file(folder)
    if file.exists() and public:
        return load(file, OVERLAY, public)
    if file.exists():
        raise DecisionError(
            "bundle.unsigned",
            "the overlay is there, but no public key says who may sign it",
            file=str(file),
            field="policy.public_key",
            fix="put the team's public key into tipstaff.yaml, or remove the overlay",
        )
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
    try:
        files = archive.unpack(overlay_file(folder).read_bytes())
        manifest = json.loads(files[".manifest"])
        return bool(manifest["revision"] == source_revision(folder, OVERLAY))
    except (OSError, ValueError, KeyError, TypeError):
        return False


def load(file: Path, name: str, public: str) -> Bundle:
    """Read a bundle whose signature holds.

    That exactly these bytes were accepted for this key is remembered in the cache, which saves loading the
    cryptography; the sidecar verifies the bytes again before it starts, and so does OPA.
    """
    data = _bytes(file)
    accepted = hashlib.sha256(f"{name}\0{public}\0".encode() + data).hexdigest()
    memory = cache_home() / "bundles" / "accepted" / f"{accepted}.json"
    try:
        known = json.loads(memory.read_bytes())
        return Bundle(name, file, str(known["revision"]), str(known["data_digest"]), public)
    except (OSError, ValueError, KeyError, TypeError):
        bundle = _bundle(signing.verify(data, public, file), name, file, public)
    known = {"revision": bundle.revision, "data_digest": bundle.data_digest}
    try:
        memory.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_atomically(memory, json.dumps(known).encode())
    except OSError:
        return bundle  # a read-only cache costs one verification a run, nothing else
    return bundle


def check(bundle: Bundle, data: bytes) -> None:
    """Verify bytes read from the bundle's file, now and in full; raises ``DecisionError`` (``bundle.signature``)."""
    files = signing.verify(data, bundle.public_key, bundle.file)
    if _bundle(files, bundle.name, bundle.file, bundle.public_key) != bundle:
        raise _refused(bundle.file, "the file changed after it was read")


def content(bundle: Bundle) -> bytes:
    """The bytes of the bundle's file as it is now; raises ``DecisionError`` (``bundle.signature``)."""
    return _bytes(bundle.file)


def _bundle(files: dict[str, bytes], name: str, file: Path, public: str) -> Bundle:
    """What verified files say about themselves; they must own exactly the root ``name``."""
    try:
        manifest = json.loads(files[".manifest"])
        facts = json.loads(files["data.json"])[name]["bundle"]
        if manifest["roots"] != [name] or manifest["revision"] != facts["revision"]:
            raise ValueError("the manifest names another root or revision")
        return Bundle(name, file, str(facts["revision"]), str(facts["data_digest"]), public)
    except (ValueError, KeyError, TypeError) as error:
        raise _refused(file, f"it is no bundle of {name}: {error}") from error


def _released(file: Path, key: Path) -> Bundle:
    if key.is_file():
        return load(file, SHIPPED, key.read_text())
    raise DecisionError(
        "bundle.unsigned",
        "the release's policy bundle has no public key beside it",
        file=str(key),
        fix="install the release of tipstaff again",
    )


def _development_key() -> Path:
    key = state_home() / "development.pem"
    if not key.with_suffix(".pub").exists():
        key.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with held(key.parent / "development.lock", timeout_s=_LOCK_S):
            public = public_key(key) if key.exists() else new_key(key)
            write_atomically(key.with_suffix(".pub"), public.encode(), mode=0o644)
    return key


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
