"""Messages of JSON-RPC that nobody would send, made from a seed."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from typing import Any

_METHODS = (
    *(
        "ping",
        "tools/list",
        "tools/call",
        "initialize",
        "notifications/initialized",
        "resources/list",
    ),
    *("notifications/cancelled", "completion/complete", "logging/setLevel", "", "rpc.x", "../ping"),
)
_TEXTS = (
    "",
    "a",
    "\u202e",
    "\x00",
    "\ud7ff",
    "😀" * 50,
    "x" * 3000,
    "Traceback",
    "__class__",
    "-1",
)
_NUMBERS = (0, 1, -1, 2**31, 2**53, -(2**63), 10**30, 0.5, 1e308, -0.0)
_WORDS = (b"NaN", b"Infinity", b"1e999", b'"\\ud800"', b"\xff", b"{", b"}", b"[", b"]", b",", b":")
_MEMBERS = (
    *("name", "arguments", "action", "spec", "dry_run", "out", "_meta", "progressToken", "cursor"),
    *("requestId", "protocolVersion", "clientInfo", "capabilities", "type", "parameters", "id"),
)


def messages(seed: int, count: int) -> Iterator[bytes]:
    """So many messages on one line each; the same ones for one seed."""
    source = random.Random(seed)
    for number in range(count):
        yield _one(source, number).replace(b"\n", b" ").replace(b"\r", b" ")


def _one(source: random.Random, number: int) -> bytes:
    kind = source.randrange(10)
    if kind == 0:
        return source.randbytes(source.randrange(60))
    if kind == 1:
        return json.dumps(_value(source, 4)).encode("utf-8", "surrogatepass")
    data = json.dumps(_message(source, number)).encode("utf-8", "surrogatepass")
    if kind in (2, 3, 4):
        return _damaged(source, data)
    return data


def _message(source: random.Random, number: int) -> dict[str, Any]:
    found: dict[str, Any] = {
        "jsonrpc": "2.0",
        "id": f"m{number}",
        "method": source.choice(_METHODS),
    }
    found["params"] = {
        source.choice(_MEMBERS): _value(source, 3) for _ in range(source.randrange(4))
    }
    if found["method"] == "tools/call":
        found["params"]["name"] = source.choice(("governed_harness", "propose_action", "approve"))
    for _ in range(source.randrange(3)):
        found[source.choice(("jsonrpc", "id", "method", "params", "result", "error", "x"))] = (
            _value(source, 2)
        )
    for name in ("jsonrpc", "id", "method", "params"):
        if source.random() < 0.05:
            found.pop(name, None)
    return found


def _value(source: random.Random, depth: int) -> Any:
    kind = source.randrange(8 if depth else 4)
    if kind == 0:
        return source.choice(_TEXTS)
    if kind == 1:
        return source.choice(_NUMBERS)
    if kind == 2:
        return source.choice((None, True, False, {}, []))
    if kind == 3:
        return source.choice(_METHODS)
    if kind in (4, 5):
        return [_value(source, depth - 1) for _ in range(source.randrange(4))]
    return {source.choice(_MEMBERS): _value(source, depth - 1) for _ in range(source.randrange(4))}


def _damaged(source: random.Random, data: bytes) -> bytes:
    place = source.randrange(len(data) + 1)
    kind = source.randrange(4)
    if kind == 0:
        return data[:place]
    if kind == 1:
        return data[:place] + source.choice(_WORDS) + data[place:]
    if kind == 2:
        return data[:place] + data[place + source.randrange(1, 9) :]
    return data[:place] + source.randbytes(source.randrange(1, 5)) + data[place:]
