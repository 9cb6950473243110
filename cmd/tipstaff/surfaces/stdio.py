"""The server on standard input and output: one JSON-RPC message a line, each read strictly before the SDK sees it.

A line that is no message is answered as such, and the next one is read. When input ends, what was asked is still
answered.
"""

from __future__ import annotations

import fcntl
import os
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

import anyio
import anyio.to_thread
import mcp_types as types
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.shared.message import SessionMessage

from tipstaff.documents import strict_json
from tipstaff.documents.text import visible
from tipstaff.errors import ContractError
from tipstaff.project import Project
from tipstaff.surfaces.principal import PrincipalOf
from tipstaff.surfaces.server import server

MAX_LINE = 9 << 20
MAX_ID = 256
_NOTIFICATIONS = "notifications/"
_CHUNK = 1 << 16
Message = types.JSONRPCMessage
Incoming = MemoryObjectReceiveStream[SessionMessage | Exception]
Outgoing = MemoryObjectSendStream[SessionMessage]


class Rejected(Exception):
    """A line that is no message, with the answer to it."""

    def __init__(self, answer: types.JSONRPCError) -> None:
        super().__init__(answer.error.message)
        self.answer = answer


def serve_stdio(
    project: Project, principal_of: PrincipalOf, say: Callable[[str], None] = lambda line: None
) -> None:
    """Serve until input ends. Nothing else of this process can write to the host, or read what it sends."""
    anyio.run(_serve, project, principal_of, say)


async def _serve(project: Project, principal_of: PrincipalOf, say: Callable[[str], None]) -> None:
    with _own(0, os.O_RDONLY) as source, _own(1, os.O_WRONLY) as sink:
        served = server(project, principal_of, say)
        async with _streams(source, sink) as (incoming, outgoing):
            await served.run(incoming, outgoing, served.create_initialization_options())


@contextmanager
def _own(standard: int, flags: int) -> Iterator[int]:
    """The descriptor of a standard stream under another number; what uses the old one meets nobody, or stderr."""
    private = fcntl.fcntl(standard, fcntl.F_DUPFD_CLOEXEC, 3)
    instead = os.dup(2) if flags == os.O_WRONLY else os.open(os.devnull, flags)
    os.dup2(instead, standard)
    os.close(instead)
    try:
        yield private
    finally:
        os.dup2(private, standard)
        os.close(private)


@dataclass
class _Open:
    """Requests that are not answered yet, by id; to the SDK 1 and "1" are the same."""

    ids: Counter[str] = field(default_factory=Counter)
    changed: anyio.Event = field(default_factory=anyio.Event)

    def add(self, message: Message) -> None:
        if isinstance(message, types.JSONRPCRequest):
            self.ids[str(message.id)] += 1
        elif isinstance(message, types.JSONRPCNotification):
            if message.method == "notifications/cancelled":
                self._end((message.params or {}).get("requestId"))

    def answered(self, message: Message) -> None:
        if isinstance(message, (types.JSONRPCResponse, types.JSONRPCError)):
            self._end(message.id)

    async def wait(self) -> None:
        """Until none is left."""
        while self.ids.total() > 0:
            await self.changed.wait()

    def _end(self, name: Any) -> None:
        if self.ids[str(name)] > 0:
            self.ids[str(name)] -= 1
            self.changed.set()
            self.changed = anyio.Event()


@asynccontextmanager
async def _streams(source: int, sink: int) -> AsyncIterator[tuple[Incoming, Outgoing]]:
    """What the SDK reads and writes; ends when the host has left."""
    to_server, incoming = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    outgoing, to_host = anyio.create_memory_object_stream[SessionMessage](0)
    rejections = outgoing.clone()
    pending = _Open()

    async def read() -> None:
        async with to_server, rejections:
            async for line in _lines(source):
                if line is not None and not line.strip():
                    continue
                try:
                    message = read_message(line)
                except Rejected as rejected:
                    await rejections.send(SessionMessage(rejected.answer))
                    continue
                pending.add(message)
                await to_server.send(SessionMessage(message))
            await pending.wait()

    async def write() -> None:
        async with to_host:
            async for item in to_host:
                text = item.message.model_dump_json(by_alias=True, exclude_unset=True)
                try:
                    await anyio.to_thread.run_sync(_write, sink, f"{text}\n".encode())
                except OSError:
                    tasks.cancel_scope.cancel()  # nobody listens any more
                    return
                pending.answered(item.message)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(read)
        tasks.start_soon(write)
        yield incoming, outgoing


async def _lines(source: int) -> AsyncIterator[bytes | None]:
    """Each line without its end, None in place of one that is too long; the last one may lack its end."""
    buffer, is_too_long = bytearray(), False
    while True:
        with suppress(PermissionError):  # a plain file, which is always ready
            await anyio.wait_readable(source)
        chunk = os.read(source, _CHUNK)
        *ended, rest = chunk.split(b"\n")
        for part in ended:
            whole = buffer + part
            yield None if is_too_long or len(whole) > MAX_LINE else bytes(whole)
            buffer, is_too_long = bytearray(), False
        buffer += rest
        if len(buffer) > MAX_LINE:
            buffer, is_too_long = bytearray(), True
        if not chunk:
            break
    if buffer or is_too_long:
        yield None if is_too_long else bytes(buffer)


def _write(sink: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(sink, view) :]


def read_message(line: bytes | None) -> Message:
    """The message in a line; None stands for one that is too long. Raises ``Rejected``."""
    if line is None:
        raise _rejected(types.INVALID_REQUEST, f"a message is longer than {MAX_LINE} bytes")
    try:
        value = strict_json.loads(line, max_bytes=MAX_LINE)
    except ContractError as error:
        raise _rejected(
            types.PARSE_ERROR, error.message, code=error.code, field=error.field
        ) from error
    if not isinstance(value, dict):
        raise _rejected(
            types.INVALID_REQUEST, "a message is one JSON object; batches are not taken"
        )
    name = value.get("id")
    is_name = isinstance(name, (str, int)) and not isinstance(name, bool)
    if "id" in value and not (is_name and len(str(name)) <= MAX_ID):
        raise _rejected(
            types.INVALID_REQUEST,
            f"an id is a string of at most {MAX_ID} characters, or an integer",
        )
    try:
        message = types.jsonrpc_message_adapter.validate_json(line, by_name=False)
    except ValueError as error:
        raise _rejected(
            types.INVALID_REQUEST, "not a message of JSON-RPC 2.0", name=name
        ) from error
    method = getattr(message, "method", None)
    if method is not None and method.startswith(_NOTIFICATIONS) == ("id" in value):
        raise _rejected(
            types.INVALID_REQUEST, "requests have an id, and notifications have none", name=name
        )
    return message


def _rejected(
    number: int,
    message: str,
    *,
    code: str = "mcp.message",
    field: str | None = None,
    name: str | int | None = None,
) -> Rejected:
    data = {"code": code, "field": field and visible(field, limit=MAX_ID)}
    error = types.ErrorData(code=number, message=visible(message), data=data)
    return Rejected(types.JSONRPCError(jsonrpc="2.0", id=name, error=error))
