"""What stands before the SDK's server: each request is judged whole before the SDK sees any of it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from contextvars import ContextVar
from dataclasses import replace
from typing import Any

import anyio
import anyio.to_thread
import mcp_types as types
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send

from tipstaff.project import Project
from tipstaff.surfaces.principal import Principal
from tipstaff.surfaces.server import server
from tipstaff.surfaces.stdio import MAX_LINE, Rejected, read_message
from tipstaff.surfaces.web import request
from tipstaff.surfaces.web.admission import Admission
from tipstaff.surfaces.web.refused import Refusals, Refused
from tipstaff.surfaces.web.sessions import MAX_SESSIONS, Sessions

_SESSION = "mcp-session-id"
_VERSION = "mcp-protocol-version"
# How long a body may take to arrive.
_PATIENCE_S = 20.0
_caller: ContextVar[Principal] = ContextVar("caller")


class Front:
    """An ASGI application: the MCP server of one project at ``/mcp``, for the hosts that it may be called by."""

    def __init__(
        self,
        project: Project,
        admission: Admission,
        hosts: frozenset[str],
        say: Callable[[str], None],
    ) -> None:
        self._admission = admission
        self._hosts = hosts
        self._refusals = Refusals(project, say)
        self._sessions = Sessions()
        self._manager = StreamableHTTPSessionManager(
            server(project, _caller.get, say),
            json_response=True,
            max_request_body_size=MAX_LINE,
            max_sessions=MAX_SESSIONS + 1,
            security_settings=TransportSecuritySettings(
                allowed_hosts=sorted(hosts), allowed_origins=[f"http://{host}" for host in hosts]
            ),
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request, or the application's whole life."""
        if scope["type"] == "lifespan":
            await self._live(receive, send)
        elif scope["type"] == "http":
            try:
                await self._serve(scope, receive, send)
            except Refused as refused:
                await self._refuse(refused, scope, receive, send)

    async def _live(self, receive: Receive, send: Send) -> None:
        async with self._running():
            await receive()
            await send({"type": "lifespan.startup.complete"})
            await receive()
        await send({"type": "lifespan.shutdown.complete"})

    @asynccontextmanager
    async def _running(self) -> AsyncIterator[None]:
        async with self._manager.run():
            yield
        await anyio.to_thread.run_sync(self._refusals.close)
        await anyio.to_thread.run_sync(self._admission.close)

    async def _refuse(self, refused: Refused, scope: Scope, receive: Receive, send: Send) -> None:
        await anyio.to_thread.run_sync(self._refusals.keep, refused, scope["method"])
        answer = Response(
            refused.body,
            refused.status,
            {**refused.headers, "Connection": "close"},
            media_type="application/json",
        )
        await answer(scope, receive, send)

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = request.headers_of(scope["headers"])
        place = (scope["method"], scope["path"], scope["query_string"])
        request.demand_place(*place, headers, self._hosts)
        text = request.bearer(headers)
        caller = await anyio.to_thread.run_sync(self._admission.admit, text)
        session = headers.get(_SESSION)
        if session is not None:
            self._sessions.demand(session, caller.id)
        body = b""
        if scope["method"] == "DELETE":
            self._sessions.ended(session or "")
        else:
            request.demand_json(headers, caller.id)
            body = await _body(receive, headers, caller.id)
            send = self._checked(_message(body, caller.id), headers, session, caller, send)
        await self._hand_over(scope, body, send, caller)

    def _checked(
        self,
        message: types.JSONRPCMessage,
        headers: request.Headers,
        session: str | None,
        caller: Principal,
        send: Send,
    ) -> Send:
        """Take a message into its session, or watch for the session that it opens."""
        name = message.id if isinstance(message, types.JSONRPCRequest) else None
        if session is not None:
            if name is not None:
                self._sessions.claim(session, name, caller.id)
            return send
        if headers.get(_VERSION, HANDSHAKE_PROTOCOL_VERSIONS[0]) not in HANDSHAKE_PROTOCOL_VERSIONS:
            return send  # the protocol's newer form, which knows no sessions
        if name is None or getattr(message, "method", None) != "initialize":
            raise Refused(400, "mcp.session", "a session begins with initialize", who=caller.id)
        return self._opening(name, caller, send)

    def _opening(self, name: str | int, caller: Principal, send: Send) -> Send:
        async def watched(message: Message) -> None:
            if message["type"] == "http.response.start":
                for header, value in message["headers"]:
                    if header.lower() == _SESSION.encode():
                        for old, owner in self._sessions.opened(value.decode(), caller.id, name):
                            await self._end(old, replace(caller, id=owner))
            await send(message)

        return watched

    async def _end(self, session: str, owner: Principal) -> None:
        """Have the SDK drop a session, which it does for nobody but its owner."""
        host = next(iter(self._hosts)).encode()
        headers = [(b"host", host), (_SESSION.encode(), session.encode())]
        scope = {"type": "http", "method": "DELETE", "path": request.PATH, "headers": headers}

        async def unheard(message: Message) -> None:
            return

        await self._hand_over(scope, b"", unheard, owner)

    async def _hand_over(self, scope: Scope, body: bytes, send: Send, caller: Principal) -> None:
        user = AccessToken(token="", client_id=caller.id, scopes=[caller.scope])
        is_read = False

        async def receive() -> Message:
            nonlocal is_read
            if is_read:
                await anyio.sleep_forever()
            is_read = True
            return {"type": "http.request", "body": body, "more_body": False}

        mark = _caller.set(caller)
        try:
            known: dict[str, Any] = {**scope, "user": AuthenticatedUser(user)}
            await self._manager.handle_request(known, receive, send)
        finally:
            _caller.reset(mark)


def _message(body: bytes, who: str) -> types.JSONRPCMessage:
    try:
        return read_message(body)
    except Rejected as rejected:
        answer = rejected.answer.model_dump(by_alias=True, exclude_none=True)
        answer.setdefault("id", None)
        raise Refused(400, "mcp.message", str(rejected), answer=answer, who=who) from rejected


async def _body(receive: Receive, headers: request.Headers, who: str) -> bytes:
    """The body, which is whole and not longer than a message may be. Raises ``Refused``."""
    too_long = Refused(413, "mcp.message", f"a body is longer than {MAX_LINE} bytes", who=who)
    if int(headers.get("content-length", "0")) > MAX_LINE:  # the server takes nothing but digits
        raise too_long
    body = bytearray()
    with anyio.move_on_after(_PATIENCE_S):
        while True:
            message = await receive()
            if message["type"] != "http.request":
                raise Refused(400, "mcp.request", "the body is not whole", who=who)
            body += message.get("body", b"")
            if len(body) > MAX_LINE:
                raise too_long
            if not message.get("more_body", False):
                return bytes(body)
    raise Refused(408, "mcp.request", "the body takes too long", who=who)
