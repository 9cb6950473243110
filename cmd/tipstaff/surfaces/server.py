"""The MCP server, whatever it is reached by: it lists a caller's tools, and hands their calls over."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import anyio
import anyio.to_thread
import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError

from tipstaff import __version__
from tipstaff.documents.base import Json
from tipstaff.errors import Error
from tipstaff.project import Project
from tipstaff.surfaces.call import failure
from tipstaff.surfaces.calls import Desk, Forbidden
from tipstaff.surfaces.principal import PrincipalOf
from tipstaff.surfaces.tools import INSTRUCTIONS, Tool

Context = ServerRequestContext[Any]
_CALLS_AT_ONCE = 16


def server(
    project: Project, principal_of: PrincipalOf, say: Callable[[str], None] = lambda line: None
) -> Server[Any]:
    """A server for one project; ``principal_of`` is asked at each request who the caller of that request is."""
    desk = Desk(project, say)
    # Calls wait for each other sooner than they take the threads by which callers are admitted.
    room = anyio.CapacityLimiter(_CALLS_AT_ONCE)

    async def list_tools(
        context: Context, params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        """The tools that this caller may use."""
        try:
            found = await anyio.to_thread.run_sync(desk.tools, principal_of(), limiter=room)
        except Error as error:
            raise MCPError(types.INTERNAL_ERROR, error.message, failure(error)["error"]) from error
        return types.ListToolsResult(tools=[_shown(tool) for tool in found])

    async def call_tool(
        context: Context, params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        """What came of one call of this caller."""
        principal = principal_of()
        try:
            found = await anyio.to_thread.run_sync(
                desk.call, principal, params.name, params.arguments or {}, limiter=room
            )
        except Forbidden as refused:
            raise MCPError(
                types.INVALID_PARAMS, refused.message, failure(refused)["error"]
            ) from refused
        return _result(found)

    return Server(
        "tipstaff",
        version=__version__,
        title="Tipstaff",
        instructions=INSTRUCTIONS,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )


def _shown(tool: Tool) -> types.Tool:
    return types.Tool(
        name=tool.name,
        title=tool.title,
        description=tool.description,
        input_schema=tool.input_schema,
        annotations=types.ToolAnnotations(
            read_only_hint=tool.read_only,
            destructive_hint=False,
            idempotent_hint=True,
            open_world_hint=False,
        ),
    )


def _result(found: Json) -> types.CallToolResult:
    text = json.dumps(found, indent=2, ensure_ascii=True)
    return types.CallToolResult(
        content=[types.TextContent(type="text", text=text)],
        structured_content=found,
        is_error=not found["ok"],
    )
