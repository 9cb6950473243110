"""Processes of this host that a run has left behind."""

from __future__ import annotations

import os
import signal
import time
from contextlib import suppress
from pathlib import Path

_GRACE_S = 1.0
_POLL_S = 0.02


def survivors(marker: str) -> list[int]:
    """The processes whose command line holds the marker and that do not go within a second; those are killed."""
    end = time.monotonic() + _GRACE_S
    while found := _marked(marker):
        if time.monotonic() >= end:
            for process in found:
                with suppress(ProcessLookupError):
                    os.kill(process, signal.SIGKILL)
            return found
        time.sleep(_POLL_S)
    return []


def _marked(marker: str) -> list[int]:
    others = [
        int(name) for name in os.listdir("/proc") if name.isdigit() and int(name) != os.getpid()
    ]
    return [process for process in others if marker.encode() in _command(process)]


def _command(process: int) -> bytes:
    try:
        return Path(f"/proc/{process}/cmdline").read_bytes()
    except OSError:
        return b""
