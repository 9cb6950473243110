"""Building a pinned Go program from its module; the checksum database sees that everybody gets the same source."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

_BUILD_S = 1200.0
_REPORT_S = 5.0


class InstallationError(Exception):
    """One way of installing did not work; the text says why."""


def build(module: str, title: str, folder: Path, say: Callable[[str], None]) -> Path:
    """``go install`` a module with its version (``path@version``) into the folder, without cgo; returns the program.

    ``title`` names the program to ``say``, which hears how it goes. Raises ``InstallationError``.
    """
    go = shutil.which("go")
    if go is None:
        raise InstallationError("no Go toolchain on PATH")
    say(f"building {title} with {go}; this takes some minutes, once")
    environment = {**os.environ, "CGO_ENABLED": "0", "GOBIN": str(folder)}
    log = folder / "go.log"
    with log.open("wb") as talk:
        try:
            process = subprocess.Popen(
                [go, "install", module],
                cwd=folder,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=talk,
                stderr=subprocess.STDOUT,
            )
        except OSError as error:
            raise InstallationError(f"{go}: {error.strerror}") from error
        code = _wait(process, title, say)
    if code != 0:
        said = log.read_text(errors="replace").strip()[-500:]
        raise InstallationError(f"go install {module} ended with {code}: {said}")
    return folder / module.partition("@")[0].rpartition("/")[2]


def _wait(process: subprocess.Popen[bytes], title: str, say: Callable[[str], None]) -> int:
    started = time.monotonic()
    try:
        while True:
            try:
                return process.wait(timeout=_REPORT_S)
            except subprocess.TimeoutExpired:
                elapsed = time.monotonic() - started
                say(f"still building {title}: {elapsed:.0f} s")
                if elapsed > _BUILD_S:
                    raise InstallationError(f"go install did not end in {_BUILD_S:.0f} s") from None
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
