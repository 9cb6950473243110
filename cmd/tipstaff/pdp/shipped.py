"""Tipstaff's own bundle: the signed one of a release, or one that a checkout builds of its own source."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path

from tipstaff import __version__, declared
from tipstaff.errors import DecisionError
from tipstaff.files import read_named, write_atomically
from tipstaff.pdp.bundle import SHIPPED, Bundle, build, load
from tipstaff.pdp.capabilities import FILE as CAPABILITIES
from tipstaff.pdp.opa import Opa
from tipstaff.pdp.places import cache_home, held, state_home
from tipstaff.pdp.signing import new_key, public_key
from tipstaff.pdp.source import read

_LOCK_S = 60.0
_KEY_BYTES = 1 << 16


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
    public = read_named(key.with_suffix(".pub"), limit=_KEY_BYTES).decode("ascii", "replace")
    source = read(folder, SHIPPED)
    parts = (__version__, source.digest, public, (folder / CAPABILITIES).read_text(), opa.version)
    digest = hashlib.sha256("\0".join(parts).encode()).hexdigest()[:32]
    file = cache_home() / "bundles" / digest / f"{SHIPPED}.tar.gz"
    if not file.exists():
        file.parent.mkdir(parents=True, exist_ok=True)
        with held(file.parent / "lock", timeout_s=_LOCK_S):
            if not file.exists():
                say(f"building the policy bundle of {source.digest[:12]}")
                return build(opa, folder, name=SHIPPED, key=key, out=file)
    return load(file, SHIPPED, public)


def _released(file: Path, key: Path) -> Bundle:
    if key.is_file():
        return load(file, SHIPPED, read_named(key, limit=_KEY_BYTES).decode("ascii", "replace"))
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
