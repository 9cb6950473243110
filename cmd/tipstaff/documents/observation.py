"""What happened while a live MCP server was observed: what it tried, left behind and said outside the protocol."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from tipstaff.documents.base import Contract, SchemaVersion
from tipstaff.documents.sandbox import SandboxResult

Era = Literal["discover", "initialize"]
# ``system_calls``: each call of every process of the server. ``counters``: what the kernel counted. ``nothing``: a URL.
Watched = Literal["system_calls", "counters", "nothing"]


class Attempt(Contract):
    """Something that the server tried and the sandbox refused or kept in: ``what`` is an address or a path.

    ``call`` is the system call; ``counted`` where the kernel tells of numbers only, and ``what`` is its counter.
    """

    kind: Literal["network", "write", "socket"]
    call: str
    what: str
    times: int = Field(ge=1)


class ObservationReport(Contract):
    """How an observation went. ``sandbox`` is the run, None for a URL; ``era`` is how the server was greeted.

    ``attempts`` were seen by the way that ``watched`` names, ``attempts_left_out`` counts those beyond its room.
    ``written`` are paths that the server left in its writable folders, ``noise`` lines of its standard output outside
    the protocol (``noise_lines`` in all), ``requests`` methods that it asked of the client, and ``notes`` what was odd
    and did no harm. ``received_bytes`` and ``pages`` are what it sent.
    """

    schema_version: SchemaVersion
    transport: Literal["stdio", "http"]
    era: Era | None
    sandbox: SandboxResult | None
    watched: Watched
    attempts: list[Attempt]
    attempts_left_out: int = Field(0, ge=0)
    written: list[str]
    noise: list[str]
    noise_lines: int = Field(ge=0)
    notifications: int = Field(ge=0)
    requests: list[str]
    notes: list[str]
    stderr: str
    pages: int = Field(ge=0)
    received_bytes: int = Field(ge=0)
