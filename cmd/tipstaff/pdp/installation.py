"""Installing the pinned OPA: the official release by its pinned SHA-256, or Go's own checked build of it.

A download without a pin, or with another digest than the pin, is never kept.
"""

from __future__ import annotations

import hashlib
import http.client
import os
import platform
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

from tipstaff.pdp.gobuild import InstallationError, build
from tipstaff.pdp.opa import VERSION, answered_version

RELEASES = "https://openpolicyagent.org/downloads"
_MODULE = f"github.com/open-policy-agent/opa@v{VERSION}"
_PINNED: dict[str, str] = {}
_ARCHITECTURES = {"x86_64": "amd64", "amd64": "amd64", "aarch64": "arm64", "arm64": "arm64"}
_MAX_BYTES = 256 << 20
_CHUNK_BYTES = 1 << 20
_SILENCE_S = 30.0
_DOWNLOAD_S = 600.0


def install(target: Path, say: Callable[[str], None], *, releases: str | None = None) -> list[str]:
    """Put the pinned version's program at ``target``, whole or not at all.

    Returns why each way failed; an empty list means it is installed.
    """
    failures: list[str] = []
    with TemporaryDirectory(dir=target.parent, prefix=".install-") as name:
        folder = Path(name)
        for way in (_download, _build):
            try:
                program = way(folder, say, releases or RELEASES)
                _accept(program)
            except InstallationError as failure:
                failures.append(str(failure))
                continue
            os.replace(program, target)
            say(f"OPA {VERSION} is installed in {target}")
            return []
    return failures


def _accept(program: Path) -> None:
    if not program.is_file():
        raise InstallationError("nothing was installed")
    program.chmod(0o755)
    version = answered_version(program)
    if version != VERSION:
        raise InstallationError(f"the new program says it is {version or 'no OPA'}, not {VERSION}")


def _download(folder: Path, say: Callable[[str], None], releases: str) -> Path:
    name = f"opa_{sys.platform}_{_ARCHITECTURES.get(platform.machine().lower(), 'unknown')}_static"
    pin = os.environ.get("TIPSTAFF_OPA_SHA256") or _PINNED.get(name)
    if not pin:
        raise InstallationError(
            f"no pinned SHA-256 for the release {name} (TIPSTAFF_OPA_SHA256 gives one)"
        )
    url = f"{releases}/v{VERSION}/{name}"
    if not url.startswith(("https://", "http://")):
        raise InstallationError(f"{url} is not an http(s) address")
    say(f"downloading {url}")
    program = folder / "downloaded"
    try:
        digest = _fetch(url, program)
    except (OSError, http.client.HTTPException, ValueError) as error:
        raise InstallationError(f"{url}: {error}") from error
    if digest != pin.lower():
        raise InstallationError(f"{url}: its SHA-256 is {digest}, the pin is {pin.lower()}")
    return program


def _fetch(url: str, program: Path) -> str:
    deadline = time.monotonic() + _DOWNLOAD_S
    hasher = hashlib.sha256()
    size = 0
    with (
        urllib.request.urlopen(url, timeout=_SILENCE_S) as answer,  # noqa: S310  scheme checked above
        program.open("wb") as stream,
    ):
        while chunk := answer.read(_CHUNK_BYTES):
            size += len(chunk)
            if size > _MAX_BYTES or time.monotonic() > deadline:
                raise OSError(f"stopped after {size} bytes: too large or too slow")
            hasher.update(chunk)
            stream.write(chunk)
    return hasher.hexdigest()


def _build(folder: Path, say: Callable[[str], None], _releases: str) -> Path:
    return build(_MODULE, f"OPA {VERSION}", folder, say)
