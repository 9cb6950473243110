"""An MCP server by the official SDK: two tools, a prompt, a resource and a template, with all that can be said."""

import socket
import sys
from typing import Annotated, Any

import uvicorn
from mcp.server.mcpserver import MCPServer
from mcp.types import Icon, ToolAnnotations
from pydantic import Field

SKY, PORT = sys.argv[2:] or ("clear", "0")

server = MCPServer("weather", instructions="Ask for the forecast first.")


@server.tool(
    title="Forecast",
    annotations=ToolAnnotations(readOnlyHint=True),
    icons=[Icon(src="data:,")],
    meta={"example.org/unit": "celsius"},
)
def forecast(place: Annotated[str, Field(description="A town.")], days: int = 1) -> dict[str, Any]:
    """What the weather will be."""
    return {"place": place, "days": days, "sky": SKY}


@server.tool()
def stations() -> list[str]:
    """Where it is measured."""
    return ["north", "south"]


@server.prompt()
def summary(place: str) -> str:
    """Sum the weather up."""
    return f"Sum up the weather of {place}."


@server.resource("weather://stations")
def listed() -> str:
    """All stations."""
    return "north, south"


@server.resource("weather://station/{name}")
def station(name: str) -> str:
    """One station."""
    return name


if __name__ == "__main__":
    if sys.argv[1:2] == ["http"]:
        listener = socket.create_server(("127.0.0.1", int(PORT)))
        print(listener.getsockname()[1], flush=True)
        config = uvicorn.Config(server.streamable_http_app(), log_level="critical")
        uvicorn.Server(config).run(sockets=[listener])
    else:
        server.run()
