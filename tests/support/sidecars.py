"""A running sidecar as tests look at it."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path

from tipstaff.pdp.client import VERDICT, Client
from tipstaff.pdp.sidecar import Sidecar

ALLOWED = b'{"input":{"ok":true,"note":"\xc3\xbc"}}'
WIDE_S = 20.0


def wait_until(condition: Callable[[], bool]) -> None:
    """Wait until it is so; fail after a wide time."""
    deadline = time.monotonic() + WIDE_S
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.01)


def is_gone(pid: int) -> bool:
    """Whether no such process runs any more."""
    try:
        return _state(Path(f"/proc/{pid}/stat")) == "Z"
    except OSError:
        return True


def keeper_of(running: Sidecar) -> int:
    """The process id of the keeper."""
    return int(json.loads((running.directory / "sidecar.json").read_text())["keeper"])


def effect_of(found: Sidecar) -> str:
    """What a new client is told about the allowed document."""
    with found.client(deadline_s=WIDE_S) as client:
        return effect(client)


def effect(client: Client) -> str:
    """What this client is told about the allowed document."""
    return str(client.ask(VERDICT, ALLOWED).result["effect"])


def _state(file: Path) -> str:
    return file.read_text().rsplit(")", 1)[1].split()[0]
