"""A local HTTP server for doubles of web services: records what comes, answers, and fails as told."""

from __future__ import annotations

import json
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Literal, Protocol
from urllib.parse import parse_qs, urlsplit

Answer = tuple[int, Any]
Kind = Literal["status", "hang", "half", "text"]


@dataclass(frozen=True)
class Request:
    """One request as it came."""

    method: str
    path: str
    query: dict[str, list[str]]
    headers: dict[str, str]
    body: Any


@dataclass
class Fault:
    """What goes wrong where ``method`` and ``path`` (a pattern) match; ``done`` carries the request out first."""

    method: str
    path: str
    kind: Kind
    status: int = 500
    body: Any = None
    done: bool = False


class Double(Protocol):
    """A service that is played."""

    def answer(self, request: Request) -> tuple[Answer, Fault | None]:
        """What a request is answered, and the fault that spoils it."""
        ...

    def wait(self) -> None:
        """Hang until the double stops."""
        ...


class Server(ThreadingHTTPServer):
    """A threaded server on a free port of loopback that asks a double for its answers."""

    daemon_threads = True
    block_on_close = False

    def __init__(self, double: Double) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.double = double


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: Server

    def _serve(self) -> None:
        parts = urlsplit(self.path)
        raw = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        (status, body), fault = self.server.double.answer(
            Request(
                method=self.command,
                path=parts.path,
                query=parse_qs(parts.query),
                headers={name.lower(): value for name, value in self.headers.items()},
                body=json.loads(raw) if raw else None,
            )
        )
        self._reply(status, body, fault)

    do_GET = do_POST = do_PATCH = do_PUT = do_DELETE = _serve

    def _reply(self, status: int, body: Any, fault: Fault | None) -> None:
        if fault and fault.kind == "hang":
            self.server.double.wait()
            self.close_connection = True
            return
        text = body if isinstance(body, str) else json.dumps(body)
        content = text.encode()
        self.send_response(200 if fault and fault.kind in ("half", "text") else status)
        self.send_header("Content-Type", "application/json; charset=utf-8")
        self.send_header("Content-Length", str(len(content)))
        if fault and fault.kind == "half":
            self.close_connection = True
            content = content[: len(content) // 2]
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: Any) -> None:
        """Keep the test's output clean."""
