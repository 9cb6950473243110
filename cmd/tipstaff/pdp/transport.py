"""One HTTP/1.1 exchange over a unix socket, inside a deadline that is ours.

Only what OPA's server sends is understood: one answer with a Content-Length or in plain chunks. Anything else is
refused, and the connection with it. A connection is kept alive between exchanges; the deadline is absolute and covers
connecting, sending and receiving.
"""

from __future__ import annotations

import os
import struct
import threading
import time
from pathlib import Path
from socket import AF_UNIX, SO_PEERCRED, SOCK_STREAM, SOL_SOCKET
from socket import socket as Connection
from typing import NoReturn, Protocol

from tipstaff.errors import DecisionError
from tipstaff.pdp.answer import Reader, remaining

_USE_NOTED_EVERY_S = 60.0


class Transport(Protocol):
    """What a client needs: post a body to a path before a deadline on the monotonic clock."""

    def post(self, path: str, body: bytes, deadline: float) -> tuple[int, bytes]:
        """Status and body of the answer; raises ``DecisionError`` with a code ``engine.*``."""

    def close(self) -> None:
        """Let go of the connection."""


class UnixTransport:
    """A kept-alive connection to a socket of this user; safe for threads and across ``fork``.

    The peer must be a process of this user. ``used`` is a file whose time is set now and then while the
    transport is in use, so that an idle sidecar can be told from a busy one.
    """

    def __init__(self, socket: Path, *, used: Path | None = None) -> None:
        self._path = socket
        self._used = used
        self._noted = time.monotonic()
        self._lock = threading.Lock()
        self._socket: Connection | None = None
        self._owner = 0

    def post(self, path: str, body: bytes, deadline: float) -> tuple[int, bytes]:
        """One exchange; sent again once, only if a kept-alive connection had closed before any byte came back."""
        if not self._lock.acquire(timeout=max(0.0, deadline - time.monotonic())):
            _late()
        try:
            if self._owner != os.getpid():
                self._drop()
            self._note_use()
            request = _request(path, body)
            if self._socket is not None:
                try:
                    return self._exchange(request, deadline, is_kept=True)
                except _Stale:
                    self._drop()
            self._connect(deadline)
            try:
                return self._exchange(request, deadline)
            except _Stale as error:
                raise _gone(self._path, "the connection closed without an answer") from error
        finally:
            self._lock.release()

    def close(self) -> None:
        """Close the connection; the next exchange opens another."""
        with self._lock:
            self._drop()

    def _drop(self) -> None:
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def _note_use(self) -> None:
        now = time.monotonic()
        if self._used is not None and now - self._noted > _USE_NOTED_EVERY_S:
            self._noted = now
            try:
                os.utime(self._used)
            except OSError:
                return  # the sidecar is gone; the exchange says so

    def _connect(self, deadline: float) -> None:
        connection = Connection(AF_UNIX, SOCK_STREAM)
        try:
            connection.settimeout(remaining(deadline))
            _dial(connection, self._path)
            _check_peer(connection, self._path)
        except TimeoutError:
            connection.close()
            _late()
        except OSError as error:
            connection.close()
            raise _gone(self._path, error.strerror or str(error)) from error
        except DecisionError:
            connection.close()
            raise
        self._socket, self._owner = connection, os.getpid()

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
                _check_quiet(connection)
            connection.settimeout(remaining(deadline))
            connection.sendall(request)
            status, body, is_reusable = reader.answer()
        except TimeoutError:
            _late()
        except OSError as error:
            if not reader.has_begun:
                raise _Stale from error
            raise _gone(self._path, error.strerror or str(error)) from error
        except EOFError as error:
            if not reader.has_begun:
                raise _Stale from error
            raise _gone(self._path, "the answer was cut short") from error
        finally:
            if not is_reusable:
                self._drop()
        return status, body


class _Stale(Exception):
    """The connection closed before a byte of the answer came."""


def _request(path: str, body: bytes) -> bytes:
    return (
        f"POST {path} HTTP/1.1\r\nHost: opa\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(body)}\r\n\r\n"
    ).encode("ascii") + body


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
        raise _gone(path, f"uid {uid} answers on the socket, not us")


def _check_quiet(connection: Connection) -> None:
    """Nothing may have come since the last answer: it would be taken for the answer to the next question."""
    connection.setblocking(False)
    try:
        connection.recv(1)
    except BlockingIOError:
        return
    raise _Stale


def _late() -> NoReturn:
    raise DecisionError(
        "engine.timeout",
        "no answer came before the deadline",
        fix="run `tipstaff doctor`; if the machine is only busy, try again",
    ) from None


def _gone(path: Path, why: str) -> DecisionError:
    return DecisionError(
        "engine.unavailable",
        f"the engine can't be reached: {why}",
        file=str(path),
        fix="try again (the sidecar starts by itself), or run `tipstaff doctor`",
    )
