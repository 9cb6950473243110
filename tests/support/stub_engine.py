"""A server on a unix socket that says what it is told to, byte for byte."""

from __future__ import annotations

import contextlib
import json
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

Play = Callable[[socket.socket], None]

REVISIONS = {"tipstaff": "r1"}
PROVENANCE = {"version": "1.22.3", "bundles": {"tipstaff": {"revision": "r1"}}}
GOOD = json.dumps({"provenance": PROVENANCE, "result": {"effect": "allow"}}).encode()


def answer(body: bytes, status: str = "200 OK", headers: str = "") -> Play:
    """One answer with a Content-Length."""
    head = f"HTTP/1.1 {status}\r\nContent-Length: {len(body)}\r\n{headers}\r\n".encode()
    return lambda peer: peer.sendall(head + body)


def raw(data: bytes) -> Play:
    """These bytes."""
    return lambda peer: peer.sendall(data)


def half_then(end: Play) -> Play:
    """The head and half of a good answer, then something else."""

    def play(peer: socket.socket) -> None:
        peer.sendall(f"HTTP/1.1 200 OK\r\nContent-Length: {len(GOOD)}\r\n\r\n".encode())
        peer.sendall(GOOD[: len(GOOD) // 2])
        end(peer)

    return play


def close(peer: socket.socket) -> None:
    """End the connection in order."""
    peer.close()


def reset(peer: socket.socket) -> None:
    """End the connection with unread bytes, as a crash does."""
    peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    peer.close()


def hang(peer: socket.socket) -> None:
    """Say nothing more until the peer is gone."""
    peer.settimeout(10)
    with contextlib.suppress(OSError):
        while peer.recv(65536):
            continue


def drip(peer: socket.socket) -> None:
    """A good answer at one byte each 50 ms."""
    data = f"HTTP/1.1 200 OK\r\nContent-Length: {len(GOOD)}\r\n\r\n".encode() + GOOD
    for place in range(len(data)):
        peer.sendall(data[place : place + 1])
        time.sleep(0.05)


class Stub:
    """Plays one part a request; the last part is played again for all later ones."""

    def __init__(self, path: Path, parts: list[Play]) -> None:
        self.requests: list[bytes] = []
        self.connections = 0
        self._parts = parts
        self._server = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._server.bind(str(path))
        self._server.listen(16)
        self._peers: list[socket.socket] = []
        self._threads: list[threading.Thread] = []
        self._accepting = threading.Thread(target=self._accept)
        self._accepting.start()

    def end(self) -> None:
        """Close everything and wait for every thread."""
        with contextlib.suppress(OSError):
            self._server.shutdown(socket.SHUT_RDWR)
        self._server.close()
        self._accepting.join()
        for peer in self._peers:
            with contextlib.suppress(OSError):
                peer.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join()

    def _accept(self) -> None:
        while True:
            try:
                peer, _ = self._server.accept()
            except OSError:
                return
            self.connections += 1
            self._peers.append(peer)
            thread = threading.Thread(target=self._serve, args=(peer,))
            self._threads.append(thread)
            thread.start()

    def _serve(self, peer: socket.socket) -> None:
        with contextlib.suppress(OSError), peer:
            while request := _read(peer):
                self.requests.append(request)
                part = self._parts.pop(0) if len(self._parts) > 1 else self._parts[0]
                part(peer)


def _read(peer: socket.socket) -> bytes:
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


@contextmanager
def stub(path: Path, *parts: Play) -> Iterator[Stub]:
    """A stub engine for the time of the block."""
    server = Stub(path, list(parts))
    try:
        yield server
    finally:
        server.end()
