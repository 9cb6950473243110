"""What to observe, what to call there, and what came of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

from tipstaff.documents.base import Json
from tipstaff.documents.contract import Snapshot
from tipstaff.documents.observation import ObservationReport
from tipstaff.documents.server import Server


@dataclass(frozen=True)
class Target:
    """One server: a command that runs in the sandbox, or a URL.

    ``headers`` maps a header to the variable that holds its value; ``environment`` names variables that a command gets.
    """

    name: str
    command: tuple[str, ...] | None = None
    url: str | None = None
    headers: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    environment: tuple[str, ...] = ()
    client_capabilities: tuple[str, ...] = ()

    @classmethod
    def configured(cls, name: str, server: Server) -> Target:
        """The server of that name in ``tipstaff.yaml``."""
        return cls(
            name,
            None if server.command is None else tuple(server.command),
            server.url,
            MappingProxyType(dict(server.headers)),
            tuple(server.environment),
            tuple(server.client_capabilities),
        )


@dataclass(frozen=True)
class Call:
    """A tool to call ``times`` times in one session.

    ``definition_sha256`` is that of ``documents.contract`` for the tool that the caller means: where the server lists
    another one now, it is not called.
    """

    id: str
    tool: str
    arguments: Json
    definition_sha256: str
    times: int = 1


@dataclass(frozen=True)
class Observation:
    """What a server advertised, how it behaved, and its answers by the call's id.

    Each answer is ``{"result": …}``, ``{"error": …}`` or ``{"refused": why}``.
    """

    snapshot: Snapshot
    report: ObservationReport
    answers: Mapping[str, Sequence[Json]] = field(default_factory=lambda: MappingProxyType({}))
