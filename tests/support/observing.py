"""Observing servers of our own in tests: the raw ones that misbehave, and one by the official SDK."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from support.sandboxes import present
from tipstaff.documents.sandbox import SandboxProfile
from tipstaff.drift.observing import limits
from tipstaff.drift.observing.observe import observe
from tipstaff.drift.observing.target import Call, Observation, Target
from tipstaff.sandbox.backend import SandboxBackend
from tipstaff.sandbox.profile import load

SERVERS = Path(__file__).parent / "servers"


def servers_profile() -> SandboxProfile:
    """The profile that servers run under."""
    return load("strict").model_copy(update={"limits": limits.load().run})


# The one of the backends that starts soonest; what each of them does is tried elsewhere.
QUICK = "bubblewrap"


@dataclass(frozen=True)
class On:
    """The profile of servers, on one backend."""

    backend: str = QUICK
    profile: SandboxProfile = field(default_factory=servers_profile)

    def strongest(self) -> SandboxBackend:
        """That backend, which has to work here."""
        return present(self.backend, self.profile)


def raw(*words: str, name: str = "weather") -> Target:
    """The raw server, misbehaving in one way."""
    return Target(name, (sys.executable, str(SERVERS / "raw.py"), *words))


def modern(name: str = "weather", **more: tuple[str, ...]) -> Target:
    """The server by the official SDK."""
    return Target(name, (sys.executable, str(SERVERS / "modern.py")), **more)


def seen(target: Target, *calls: Call, root: Path, backend: str = QUICK) -> Observation:
    """One observation."""
    return observe(target, On(backend), root=root, calls=calls)


@contextmanager
def serving(*words: str, program: str = "web.py") -> Iterator[str]:
    """The address of a server that runs meanwhile."""
    argv = [sys.executable, str(SERVERS / program), *words]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        try:
            yield f"http://127.0.0.1:{int(server.stdout.readline())}/mcp"
        finally:
            server.kill()
