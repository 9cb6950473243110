"""An MCP server on the standard library alone that lists and answers what the variable SERVER_SAYS tells it, as JSON.

``tools`` are listed as they are; ``answers`` maps a tool to its structured content, in which the text ``random`` stands
for another text each time. ``crash`` names a tool whose call ends the server.
"""

import json
import os
import sys

SAYS = json.loads(os.environ["SERVER_SAYS"])


def filled(value):
    """The value with each text that is to differ replaced."""
    if value == "random":
        return os.urandom(8).hex()
    return {key: filled(item) for key, item in value.items()} if isinstance(value, dict) else value


def called(name):
    """The result of a call."""
    if SAYS.get("crash") == name:
        sys.exit(3)
    content = filled(SAYS["answers"].get(name, {}))
    text = {"type": "text", "text": json.dumps(content)}
    return {"content": [text], "structuredContent": content, "isError": "error" in content}


def result(request):
    """The result of a request."""
    method, params = request["method"], request.get("params") or {}
    if method == "initialize":
        server = {"name": "told", "version": "1"}
        return {
            "protocolVersion": "2025-06-18",
            "capabilities": {"tools": {}},
            "serverInfo": server,
        }
    if method == "tools/list":
        return {"tools": SAYS["tools"]}
    return called(params["name"]) if method == "tools/call" else None


for line in sys.stdin:
    message = json.loads(line)
    if "id" in message:
        answer = {"jsonrpc": "2.0", "id": message["id"]}
        found = result(message)
        missing = {"code": -32601, "message": "no such method"}
        answer |= {"error": missing} if found is None else {"result": found}
        print(json.dumps(answer), flush=True)
