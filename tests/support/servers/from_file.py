"""An MCP server on the standard library alone that advertises what ``tools.json`` beside it holds."""

import json
import sys
from pathlib import Path

TOLD = json.loads(Path(__file__).with_name("tools.json").read_text())


def answer(request):
    """What the protocol says to one request."""
    if request["method"] == "initialize":
        told = {"name": "weather", "version": "1"}
        return {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": told}
    if request["method"] == "tools/list":
        return {"tools": TOLD}
    return None


for line in sys.stdin:
    message = json.loads(line)
    if "id" in message and "method" in message:
        result = answer(message)
        part = {"result": result}
        if result is None:
            part = {"error": {"code": -32601, "message": "Method not found"}}
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], **part}), flush=True)
