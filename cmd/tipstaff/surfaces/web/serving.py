"""The server's life: its address, its limits, and how it ends."""

from __future__ import annotations

import ipaddress
import logging
import signal
import socket
from collections.abc import Callable
from contextlib import closing
from typing import Any

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from tipstaff.errors import ContractError
from tipstaff.project import Project
from tipstaff.surfaces.principal import Scope
from tipstaff.surfaces.web import request
from tipstaff.surfaces.web.admission import Admission
from tipstaff.surfaces.web.front import Front

_CONNECTIONS = 64
_HEADER_BYTES = 16 << 10
_IDLE_S = 5
_GRACE_S = 5
_LOCAL_NAMES = ("127.0.0.1", "localhost", "[::1]")
_ADDRESSES = ("127.0.0.1", "::1")
_HTTP_PORT = 80


class _Impatient(H11Protocol):
    """A connection that is closed where its first request does not begin in time."""

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self.loop.call_later(_IDLE_S, self._demand_request)

    def _demand_request(self) -> None:
        if self.cycle is None and not self.transport.is_closing():
            self.transport.close()


class _Told(logging.Handler):
    """The first line of what a library has to say about a fault."""

    def __init__(self, say: Callable[[str], None]) -> None:
        super().__init__(logging.ERROR)
        self._say = say

    def emit(self, record: logging.LogRecord) -> None:
        cause = record.exc_info[1] if record.exc_info else None
        what = f": {type(cause).__name__}" if cause else ""
        self._say(f"error: {record.getMessage().splitlines()[0]}{what} [{record.name}]")


def listen(host: str, port: int) -> socket.socket:
    """A socket on loopback.

    Others are refused: a token would cross the network in the clear, and a proxy that speaks TLS can stand in front.
    Raises ``ContractError`` (``mcp.address``).
    """
    try:
        address = ipaddress.ip_address(host)
    except ValueError as error:
        raise _unusable("--host", f"{host!r} is no IP address") from error
    if not address.is_loopback:
        raise _unusable("--host", f"{address} is not on loopback, and this server speaks no TLS")
    if str(address) not in _ADDRESSES:
        raise _unusable("--host", f"no request to {address} would be taken")
    family = socket.AF_INET6 if address.version == 6 else socket.AF_INET
    try:
        return socket.create_server((str(address), port), family=family)
    except (OSError, OverflowError) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise _unusable("--port", f"{address} port {port}: {why}") from error


def url_of(listener: socket.socket) -> str:
    """Where a host finds the server."""
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}/mcp" if ":" in host else f"http://{host}:{port}/mcp"


def application(
    project: Project, served: Scope, port: int, say: Callable[[str], None] = lambda line: None
) -> Front:
    """The ASGI application of a server on a port of loopback. Raises ``EvidenceError`` (``store.*``)."""
    hosts = {f"{name}:{port}" for name in _LOCAL_NAMES}
    if port == _HTTP_PORT:  # which clients leave out
        hosts.update(_LOCAL_NAMES)
    return Front(project, Admission(project, served, say), frozenset(hosts), say)


def uvicorn_server(front: Front) -> uvicorn.Server:
    """What speaks HTTP for the application, with bounds on everything that is sent to it."""
    return uvicorn.Server(
        uvicorn.Config(
            front,
            http=_Impatient,
            ws="none",
            lifespan="on",
            loop="asyncio",
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,
            limit_concurrency=_CONNECTIONS,
            timeout_keep_alive=_IDLE_S,
            timeout_graceful_shutdown=_GRACE_S,
            h11_max_incomplete_event_size=_HEADER_BYTES,
        )
    )


def serve_http(
    project: Project,
    served: Scope,
    listener: socket.socket,
    say: Callable[[str], None],
    ready: Callable[[str], None],
) -> None:
    """Serve until SIGINT or SIGTERM; what was asked before is still answered, for some seconds.

    ``ready`` is given the URL before the first request is taken. Raises ``EvidenceError`` (``store.*``).
    """
    for name in ("uvicorn", "mcp", "asyncio"):
        logger = logging.getLogger(name)
        logger.propagate = False
        logger.addHandler(_Told(say))
    with closing(listener):
        port = listener.getsockname()[1]
        server = uvicorn_server(application(project, served, port, say))

        def stop(*_: object) -> None:
            """End it, if it has begun or not; uvicorn raises the signal again when it has ended."""
            server.should_exit = True

        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, stop)
        ready(url_of(listener))
        server.run(sockets=[listener])


def _unusable(field: str, message: str) -> ContractError:
    return ContractError(
        "mcp.address",
        message,
        field=field,
        fix=f"serve {request.PATH} on 127.0.0.1, and have a proxy on this machine speak TLS to others",
    )
