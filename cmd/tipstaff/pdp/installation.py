"""Installing the pinned OPA: the official release by its pinned SHA-256, or Go's own checked build of it.

A download without a pin, or with another digest than the pin, is never kept.
"""

from __future__ import annotations

import hashlib
import http.client
import os
import platform
import shutil
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

from tipstaff.pdp.opa import VERSION, answered_version

RELEASES = "https://openpolicyagent.org/downloads"
_MODULE = f"github.com/open-policy-agent/opa@v{VERSION}"
_PINNED: dict[str, str] = {}
_ARCHITECTURES = {"x86_64": "amd64", "amd64": "amd64", "aarch64": "arm64", "arm64": "arm64"}
_MAX_BYTES = 256 << 20
_CHUNK_BYTES = 1 << 20
_SILENCE_S = 30.0
_DOWNLOAD_S = 600.0
_BUILD_S = 1200.0
_REPORT_S = 5.0


class _Failed(Exception):
    """One way of installing did not work; the text says why."""


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
            except _Failed as failure:
                failures.append(str(failure))
                continue
            os.replace(program, target)
            say(f"OPA {VERSION} is installed in {target}")
            return []
    return failures


def _accept(program: Path) -> None:
    if not program.is_file():
        raise _Failed("nothing was installed")
    program.chmod(0o755)
    version = answered_version(program)
    if version != VERSION:
        raise _Failed(f"the new program says it is {version or 'no OPA'}, not {VERSION}")


def _download(folder: Path, say: Callable[[str], None], releases: str) -> Path:
    name = f"opa_{sys.platform}_{_ARCHITECTURES.get(platform.machine().lower(), 'unknown')}_static"
    pin = os.environ.get("TIPSTAFF_OPA_SHA256") or _PINNED.get(name)
    if not pin:
        raise _Failed(f"no pinned SHA-256 for the release {name} (TIPSTAFF_OPA_SHA256 gives one)")
    url = f"{releases}/v{VERSION}/{name}"
    if not url.startswith(("https://", "http://")):
        raise _Failed(f"{url} is not an http(s) address")
    say(f"downloading {url}")
    program = folder / "downloaded"
    try:
        digest = _fetch(url, program)
    except (OSError, http.client.HTTPException, ValueError) as error:
        raise _Failed(f"{url}: {error}") from error
    if digest != pin.lower():
        raise _Failed(f"{url}: its SHA-256 is {digest}, the pin is {pin.lower()}")
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
    go = shutil.which("go")
    if go is None:
        raise _Failed("no Go toolchain on PATH")
    say(f"building OPA {VERSION} with {go}; this takes some minutes, once")
    environment = {**os.environ, "CGO_ENABLED": "0", "GOBIN": str(folder)}
    log = folder / "go.log"
    with log.open("wb") as talk:
        try:
            process = subprocess.Popen(
                [go, "install", _MODULE],
                cwd=folder,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=talk,
                stderr=subprocess.STDOUT,
            )
        except OSError as error:
            raise _Failed(f"{go}: {error.strerror}") from error
        code = _wait(process, say)
    if code != 0:
        said = log.read_text(errors="replace").strip()[-500:]
        raise _Failed(f"go install {_MODULE} ended with {code}: {said}")
    return folder / "opa"


def _wait(process: subprocess.Popen[bytes], say: Callable[[str], None]) -> int:
    started = time.monotonic()
    try:
        while True:
            try:
                return process.wait(timeout=_REPORT_S)
            except subprocess.TimeoutExpired:
                elapsed = time.monotonic() - started
                say(f"still building OPA: {elapsed:.0f} s")
                if elapsed > _BUILD_S:
                    raise _Failed(f"go install did not end in {_BUILD_S:.0f} s") from None
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
