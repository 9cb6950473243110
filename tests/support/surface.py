"""The MCP server over HTTP as tests reach it: on a real socket, in this process or in one of its own."""

from __future__ import annotations

import http.client
import json
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tipstaff.documents.input import Actor
from tipstaff.ledger.database import open_database
from tipstaff.ledger.tokens import Tokens
from tipstaff.project import Project
from tipstaff.surfaces.principal import Scope

PERSON = Actor(id="person@desk", type="human")
INITIALIZE = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "tests", "version": "1"},
}
JSON = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
PROGRAM = "import sys; from tipstaff.cli import main; sys.exit(main(sys.argv[1:]))"
_PATIENCE_S = 60


def token(state: Path, name: str, scope: str = "propose", lifetime_s: int = 3600) -> str:
    """A token, issued without asking anybody."""
    return Tokens(open_database(state)).issue(name, scope, lifetime_s=lifetime_s, by=PERSON)[1]


def message(method: str, name: Any = 1, /, **params: Any) -> dict[str, Any]:
    """A request of JSON-RPC; a notification where the name is None."""
    named = {} if name is None else {"id": name}
    return {"jsonrpc": "2.0", **named, "method": method, "params": params}


@dataclass(frozen=True)
class Answer:
    """What came back."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        """The body as JSON; None where there is none."""
        return json.loads(self.body) if self.body else None

    @property
    def code(self) -> str | None:
        """The code of a refusal."""
        if not self.headers.get("content-type", "").startswith("application/json"):
            return None
        error = (self.json or {}).get("error")
        return ((error or {}).get("data") or {}).get("code")


@dataclass
class Caller:
    """A client that says exactly what it is told to, on a connection for each request."""

    port: int
    token: str | None = None
    session: str | None = None

    def send(
        self, body: Any = b"", method: str = "POST", path: str = "/mcp", **headers: str | None
    ) -> Answer:
        """One request. ``headers`` replace the usual ones, with underscores for hyphens; None leaves one out."""
        wanted: dict[str, str | None] = {**JSON, "Mcp-Session-Id": self.session}
        if self.token is not None:
            wanted["Authorization"] = f"Bearer {self.token}"
        wanted |= {name.replace("_", "-"): value for name, value in headers.items()}
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        kept = {name: value for name, value in wanted.items() if value is not None}
        with closing(
            http.client.HTTPConnection("127.0.0.1", self.port, timeout=_PATIENCE_S)
        ) as connection:
            connection.request(method, path, data, kept)
            response = connection.getresponse()
            found = {name.lower(): value for name, value in response.getheaders()}
            return Answer(response.status, found, response.read())

    def call(self, method: str, name: Any = 1, /, **params: Any) -> Answer:
        """One request of JSON-RPC."""
        return self.send(message(method, name, **params))

    def begin(self) -> Answer:
        """Open a session and keep it."""
        answer = self.call("initialize", "begin", **INITIALIZE)
        self.session = answer.headers.get("mcp-session-id")
        assert answer.status == 200, answer
        assert self.call("notifications/initialized", None).status == 202
        return answer


@contextmanager
def serving(root: Path, served: Scope = "propose") -> Iterator[int]:
    """A server in this process; its port."""
    from tipstaff.surfaces.web.serving import application, listen, uvicorn_server

    listener = listen("127.0.0.1", 0)
    port: int = listener.getsockname()[1]
    server = uvicorn_server(application(Project.find(root), served, port))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()
    try:
        yield port
    finally:
        server.should_exit = True
        thread.join(_PATIENCE_S)
        listener.close()
        assert not thread.is_alive()


@contextmanager
def process(
    root: Path, *options: str, transport: str = "http"
) -> Iterator[subprocess.Popen[bytes]]:
    """A server in a process of its own; it is killed if it still runs at the end."""
    words = ["mcp", "serve", "--transport", transport, *options]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    found = subprocess.Popen([sys.executable, "-c", PROGRAM, *words], cwd=root, **pipes)
    try:
        yield found
    finally:
        if found.poll() is None:
            found.kill()
        for stream in (found.stdin, found.stdout, found.stderr):
            if stream is not None:
                stream.close()
        found.wait(_PATIENCE_S)


def port_of(server: subprocess.Popen[bytes]) -> int:
    """The port that a process printed."""
    assert server.stdout is not None
    return int(server.stdout.readline().split(b":")[2].split(b"/")[0])


def stop(server: subprocess.Popen[bytes], number: int = signal.SIGTERM) -> tuple[int, bytes]:
    """How a process ends when it is told to, and what it still said on standard error."""
    server.send_signal(number)
    _, said = server.communicate(timeout=_PATIENCE_S)
    return server.returncode, said


def memory_kib(pid: int) -> int:
    """The resident memory of a process."""
    status = Path(f"/proc/{pid}/status").read_text()
    line = next(line for line in status.splitlines() if line.startswith("VmRSS:"))
    return int(line.split()[1])
