"""An MCP host as tests play it: the official SDK's client on a real server process, or raw lines into one."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import mcp_types as types
from anyio.from_thread import BlockingPortal, start_blocking_portal
from mcp.client.session import ClientSession
from mcp.client.stdio import StdioServerParameters, stdio_client

from support.governed import SPEC, changed
from support.workshop import Workshop
from tipstaff.documents.audit import AuditRecord
from tipstaff.ledger.trail import Trail
from tipstaff.pdp.places import witness_folder
from tipstaff.project import Project
from tipstaff.surfaces.calls import Desk
from tipstaff.surfaces.principal import Principal, Scope

PROGRAM = (
    sys.executable,
    "-c",
    "import sys; from tipstaff.cli import main; sys.exit(main(sys.argv[1:]))",
)
SOURCE: str = SPEC["modification"]["source"]
WIDE_S = 120


def a_spec(**changes: Any) -> dict[str, Any]:
    """A specification that promotes over MCP, its scores being vouched for; ``modification__x`` changes one inside."""
    vouched = {name: attested(SPEC[name]) for name in ("before", "after")}
    return changed(**{**vouched, **changes})


def attested(scores: Mapping[str, float], source: str = SOURCE) -> dict[str, Any]:
    """Scores that somebody else than the proposer measured on this source."""
    digest = hashlib.sha256(source.encode()).hexdigest()
    return {"scores": dict(scores), "producer": "evaluation", "source_sha256": digest}


@dataclass(frozen=True)
class Caller:
    """A caller of the tools in this process, as a server would hand its calls over."""

    workshop: Workshop
    principal: Principal

    def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """What the call gives."""
        return self.call_with(tool, arguments)

    def call_with(self, tool: str, arguments: Any) -> dict[str, Any]:
        """The same with arguments of any shape."""
        said: list[str] = []
        desk = Desk(Project.find(self.workshop.root), said.append)
        return desk.call(self.principal, tool, arguments)

    def harness(self, spec: Any = None, **more: Any) -> dict[str, Any]:
        """What the harness tool says of a specification."""
        return self.call("governed_harness", spec=a_spec() if spec is None else spec, **more)


def caller(workshop: Workshop, scope: Scope = "propose", name: str = "agent-7") -> Caller:
    """A caller with this scope."""
    return Caller(workshop, Principal(name, scope))


def records(root: Path) -> list[AuditRecord]:
    """All that is on the trail."""
    return list(Trail(root / ".tipstaff", witness=witness_folder()).records())


@dataclass(frozen=True)
class Host:
    """A client of the SDK in a session with a server."""

    portal: BlockingPortal
    session: ClientSession

    def tools(self) -> list[types.Tool]:
        """What the server lists."""
        return list(self.portal.call(self.session.list_tools).tools)

    def call(self, tool: str, **arguments: Any) -> types.CallToolResult:
        """The result of a call."""
        return self.portal.call(self.session.call_tool, tool, arguments)


@contextmanager
def hosted(root: Path, *options: str, **environment: str) -> Iterator[Host]:
    """A host of ``tipstaff mcp serve`` with these options and variables."""
    with (
        start_blocking_portal() as portal,
        portal.wrap_async_context_manager(_session(root, options, environment)) as session,
    ):
        yield Host(portal, session)


@asynccontextmanager
async def _session(
    root: Path, options: Sequence[str], environment: Mapping[str, str]
) -> AsyncIterator[ClientSession]:
    command, *arguments = PROGRAM
    server = StdioServerParameters(
        command=command,
        args=[*arguments, "mcp", "serve", *options],
        env={**os.environ, **environment},
        cwd=root,
    )
    async with (
        stdio_client(server, errlog=subprocess.DEVNULL) as (read, write),  # type: ignore[arg-type]
        ClientSession(read, write) as session,
    ):
        await session.initialize()
        yield session


def answers(root: Path, *lines: bytes, **environment: str) -> list[dict[str, Any]]:
    """What a server answers to these raw lines, after a handshake."""
    hello = {
        "jsonrpc": "2.0",
        "id": "hello",
        "method": "initialize",
        "params": {
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": {"name": "x", "version": "1"},
        },
    }
    ready = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    given = b"".join(
        line + b"\n" for line in (json.dumps(hello).encode(), json.dumps(ready).encode(), *lines)
    )
    ended = subprocess.run(
        [*PROGRAM, "mcp", "serve"],
        input=given,
        cwd=root,
        env={**os.environ, **environment},
        capture_output=True,
        check=False,
        timeout=WIDE_S,
    )
    assert ended.returncode == 0, ended.stderr.decode()
    assert b"Traceback" not in ended.stdout
    found = [json.loads(line) for line in ended.stdout.splitlines()]
    greeting = [answer for answer in found if answer["id"] == "hello"]
    assert len(greeting) == 1
    assert "result" in greeting[0]
    return [answer for answer in found if answer["id"] != "hello"]
