"""How an engine can answer wrongly: parts to be played on an open connection once a question has been read from it."""

from __future__ import annotations

import json
import os
import signal
import socket
import struct
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

Play = Callable[[socket.socket], None]

_DRIP_S = 0.05
_LOOK_S = 0.005
_HANG_S = 30.0
_CHUNK_BYTES = 1 << 20


def answer(body: bytes, status: str = "200 OK", headers: str = "") -> Play:
    """One whole answer with a Content-Length."""
    return raw(_head(len(body), status, headers) + body)


def says(document: object) -> Play:
    """One whole answer that holds this document."""
    return answer(json.dumps(document).encode())


def raw(data: bytes) -> Play:
    """These bytes."""
    return lambda peer: peer.sendall(data)


def half_then(body: bytes, end: Play) -> Play:
    """The head and half of an answer, then something else."""

    def play(peer: socket.socket) -> None:
        peer.sendall(_head(len(body)) + body[: len(body) // 2])
        end(peer)

    return play


def late(body: bytes, seconds: float) -> Play:
    """A whole answer, but only after some seconds."""

    def play(peer: socket.socket) -> None:
        time.sleep(seconds)
        peer.sendall(_head(len(body)) + body)

    return play


def drip(body: bytes) -> Play:
    """A whole answer at one byte each 50 ms, as long as somebody listens."""

    def play(peer: socket.socket) -> None:
        data = _head(len(body)) + body
        for place in range(len(data)):
            peer.sendall(data[place : place + 1])
            time.sleep(_DRIP_S)

    return play


def flood(size: int) -> Play:
    """A string of this many bytes, in chunks, so that no length announces it."""

    def play(peer: socket.socket) -> None:
        peer.sendall(b'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n"\r\n')
        for _ in range(size // _CHUNK_BYTES):
            peer.sendall(b"%x\r\n" % _CHUNK_BYTES + b"x" * _CHUNK_BYTES + b"\r\n")
        peer.sendall(b'1\r\n"\r\n0\r\n\r\n')

    return play


def close(peer: socket.socket) -> None:
    """End the connection in order."""
    peer.close()


def reset(peer: socket.socket) -> None:
    """End the connection as a crash does; what was sent may be lost."""
    with suppress(OSError):
        peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    peer.close()


def hang(peer: socket.socket) -> None:
    """Say nothing more until the peer is gone."""
    peer.settimeout(_HANG_S)
    with suppress(OSError):
        while peer.recv(65536):
            continue


def read_request(peer: socket.socket) -> bytes:
    """One request with a Content-Length, head and body; empty when the peer has ended."""
    data = b""
    while b"\r\n\r\n" not in data:
        more = peer.recv(65536)
        if not more:
            return b""
        data += more
    head, _, body = data.partition(b"\r\n\r\n")
    length = int(head.lower().split(b"content-length:")[1].split(b"\r\n")[0])
    while len(body) < length:
        body += peer.recv(65536)
    return head + b"\r\n\r\n" + body


def freeze(pid: int, *, within_s: float = 5.0) -> None:
    """Stop a process and wait until all its threads stand still; until then it may still answer.

    Raises ``TimeoutError``, or ``OSError`` where there is no such process.
    """
    os.kill(pid, signal.SIGSTOP)
    deadline = time.monotonic() + within_s
    while any(_state(thread) != "T" for thread in Path(f"/proc/{pid}/task").iterdir()):
        if time.monotonic() > deadline:
            raise TimeoutError(f"process {pid} does not stand still")
        time.sleep(_LOOK_S)


def _state(thread: Path) -> str:
    return (thread / "stat").read_text().rsplit(")", 1)[1].split()[0]


def _head(length: int, status: str = "200 OK", headers: str = "") -> bytes:
    return f"HTTP/1.1 {status}\r\nContent-Length: {length}\r\n{headers}\r\n".encode()
