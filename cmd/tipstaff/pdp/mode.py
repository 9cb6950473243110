"""Which engine answers: the embedded sidecar, the one in Docker, or a remote one.

A named remote comes first, then a container that was started in the state folder. Nothing ever falls back to another.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Literal

Mode = Literal["embedded", "docker", "remote"]
MODES: tuple[Mode, ...] = ("embedded", "docker", "remote")


def docker_record(state: Path) -> Path:
    """The file that stands in the state folder from the start of a container to ``tipstaff sidecar stop``."""
    return state / "docker" / "sidecar.json"


def in_use(state: Path) -> Mode:
    """The mode that a decision of this state folder is made in now."""
    if os.environ.get("TIPSTAFF_OPA_URL"):
        return "remote"
    return "docker" if docker_record(state).exists() else "embedded"
