"""One HTTP/1.1 exchange over a socket, inside a deadline that is ours.

Only what OPA's server sends is understood: one answer with a Content-Length or in plain chunks. Anything else is
refused, and the connection with it. A connection is kept alive between exchanges; the deadline is absolute and covers
connecting, sending and receiving.
"""

from __future__ import annotations

import os
import struct
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path
from socket import AF_UNIX, SO_PEERCRED, SOCK_STREAM, SOL_SOCKET
from socket import socket as Connection
from typing import ClassVar, NoReturn, Protocol

from tipstaff.documents.codes import CODES
from tipstaff.errors import DecisionError
from tipstaff.pdp.answer import Reader, remaining

_USE_NOTED_EVERY_S = 60.0


class Transport(Protocol):
    """What a client needs: post a body to a path before a deadline on the monotonic clock."""

    def post(self, path: str, body: bytes, deadline: float) -> tuple[int, bytes]:
        """Status and body of the answer; raises ``DecisionError`` with a code ``engine.*``."""

    def close(self) -> None:
        """Let go of the connection."""


class StreamTransport(ABC):
    """A kept-alive connection to one server; safe for threads and across ``fork``.

    ``where`` names the server in errors; ``headers`` are sent with every question.
    """

    # What a connection raises when it is asked for a byte that has not come.
    nothing_yet: ClassVar[tuple[type[OSError], ...]] = (BlockingIOError,)

    def __init__(self, where: str, headers: Mapping[str, str]) -> None:
        self._where = where
        self._headers = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        self._lock = threading.Lock()
        self._socket: Connection | None = None
        self._owner = 0

    @abstractmethod
    def open(self, deadline: float) -> Connection:
        """A new connection; raises ``OSError``, ``TimeoutError`` or ``DecisionError``."""

    def post(self, path: str, body: bytes, deadline: float) -> tuple[int, bytes]:
        """One exchange; sent again once, only if a kept-alive connection had closed before any byte came back."""
        if not self._lock.acquire(timeout=max(0.0, deadline - time.monotonic())):
            _late()
        try:
            if self._owner != os.getpid():
                self._drop()
            request = self._request(path, body)
            if self._socket is not None:
                try:
                    return self._exchange(request, deadline, is_kept=True)
                except _Stale:
                    self._drop()
            self._connect(deadline)
            try:
                return self._exchange(request, deadline)
            except _Stale as error:
                raise self.lost(error.__cause__) from error
        finally:
            self._lock.release()

    def lost(self, cause: BaseException | None) -> DecisionError:
        """The error for a connection that closed, for this cause, without a byte of an answer."""
        return _gone(self._where, "the connection closed without an answer")

    def close(self) -> None:
        """Close the connection; the next exchange opens another."""
        with self._lock:
            self._drop()

    def _drop(self) -> None:
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def _connect(self, deadline: float) -> None:
        try:
            self._socket, self._owner = self.open(deadline), os.getpid()
        except TimeoutError:
            _late()
        except OSError as error:
            raise _gone(self._where, error.strerror or str(error)) from error

    def _request(self, path: str, body: bytes) -> bytes:
        return (
            f"POST {path} HTTP/1.1\r\n{self._headers}Content-Type: application/json\r\n"
            f"Content-Length: {len(body)}\r\n\r\n"
        ).encode("ascii") + body

    def _exchange(
        self, request: bytes, deadline: float, *, is_kept: bool = False
    ) -> tuple[int, bytes]:
        """Send and receive; a connection that was not read to its end in good order is never used again."""
        connection = self._socket
        assert connection is not None  # noqa: S101  set by every caller
        reader = Reader(connection, deadline)
        is_reusable = False
        try:
            if is_kept:
                _check_quiet(connection, self.nothing_yet)
            connection.settimeout(remaining(deadline))
            _send(connection, request)
            status, body, is_reusable = reader.answer()
        except TimeoutError:
            _late()
        except OSError as error:
            if not reader.has_begun:
                raise _Stale from error
            raise _gone(self._where, error.strerror or str(error)) from error
        except EOFError as error:
            if not reader.has_begun:
                raise _Stale from error
            raise _gone(self._where, "the answer was cut short") from error
        finally:
            if not is_reusable:
                self._drop()
        return status, body


class UnixTransport(StreamTransport):
    """The transport to a socket of this user; the peer must be a process of this user.

    ``used`` is a file whose time is set now and then while the transport is in use, so that an idle sidecar can be
    told from a busy one.
    """

    def __init__(self, socket: Path, *, used: Path | None = None) -> None:
        super().__init__(str(socket), {"Host": "opa"})
        self._path = socket
        self._used = used
        self._noted = time.monotonic()

    def post(self, path: str, body: bytes, deadline: float) -> tuple[int, bytes]:
        """As every transport, and the use is noted."""
        self._note_use()
        return super().post(path, body, deadline)

    def open(self, deadline: float) -> Connection:
        """Connect and look who answers."""
        connection = Connection(AF_UNIX, SOCK_STREAM)
        try:
            connection.settimeout(remaining(deadline))
            _dial(connection, self._path)
            _check_peer(connection, self._path)
        except (OSError, DecisionError):
            connection.close()
            raise
        return connection

    def _note_use(self) -> None:
        now = time.monotonic()
        if self._used is not None and now - self._noted > _USE_NOTED_EVERY_S:
            self._noted = now
            try:
                os.utime(self._used)
            except OSError:
                return  # the sidecar is gone; the exchange says so


class _Stale(Exception):
    """The connection closed before a byte of the answer came."""


def _dial(connection: Connection, path: Path) -> None:
    """Connect through the folder's descriptor: the address is short however long the path is."""
    folder = os.open(path.parent, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        connection.connect(f"/proc/self/fd/{folder}/{path.name}")
    finally:
        os.close(folder)


def _check_peer(connection: Connection, path: Path) -> None:
    credentials = connection.getsockopt(SOL_SOCKET, SO_PEERCRED, 12)
    _, uid, _ = struct.unpack("3i", credentials)
    if uid != os.geteuid():
        raise _gone(str(path), f"uid {uid} answers on the socket, not us")


def _send(connection: Connection, request: bytes) -> None:
    """Send it all; a peer that hung up may have said why, and then that is the error."""
    try:
        connection.sendall(request)
    except ConnectionError:
        connection.recv(1)
        raise


def _check_quiet(connection: Connection, nothing_yet: tuple[type[OSError], ...]) -> None:
    """Nothing may have come since the last answer: it would be taken for the answer to the next question."""
    connection.setblocking(False)
    try:
        connection.recv(1)
    except nothing_yet:
        return
    raise _Stale


def _late() -> NoReturn:
    raise DecisionError(
        "engine.timeout",
        "no answer came before the deadline",
        fix=CODES["engine.timeout"].solution,
    ) from None


def _gone(where: str, why: str) -> DecisionError:
    return DecisionError(
        "engine.unavailable",
        f"the engine can't be reached: {why}",
        file=where,
        fix=CODES["engine.unavailable"].solution,
    )
