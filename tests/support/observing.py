"""Observing servers of our own in tests: the raw ones that misbehave, and one by the official SDK."""

from __future__ import annotations

import sys
from pathlib import Path

from tipstaff.drift.observing import limits
from tipstaff.drift.observing.observe import observe
from tipstaff.drift.observing.target import Call, Observation, Target
from tipstaff.evidence.isolation import Isolation
from tipstaff.sandbox.profile import load

SERVERS = Path(__file__).parent / "servers"
# The one of the backends that starts soonest; what each of them does is tried elsewhere.
QUICK = "bubblewrap"


def isolation(backend: str = QUICK) -> Isolation:
    """The profile of servers, on one backend."""
    profile = load("strict").model_copy(update={"limits": limits.load().run})
    return Isolation(profile, (backend,))


def raw(*words: str, name: str = "weather") -> Target:
    """The raw server, misbehaving in one way."""
    return Target(name, (sys.executable, str(SERVERS / "raw.py"), *words))


def modern(name: str = "weather", **more: tuple[str, ...]) -> Target:
    """The server by the official SDK."""
    return Target(name, (sys.executable, str(SERVERS / "modern.py")), **more)


def seen(target: Target, *calls: Call, root: Path, backend: str = QUICK) -> Observation:
    """One observation."""
    return observe(target, isolation(backend), root=root, calls=calls)
