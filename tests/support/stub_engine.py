"""A server on a unix socket that says what it is told to, byte for byte."""

from __future__ import annotations

import contextlib
import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tipstaff.engine import faults
from tipstaff.engine.faults import Play, answer, close, hang, raw, read_request, reset

__all__ = ["Play", "answer", "close", "hang", "raw", "reset"]

REVISIONS = {"tipstaff": "r1"}
PROVENANCE = {"version": "1.22.3", "bundles": {"tipstaff": {"revision": "r1"}}}
GOOD = json.dumps({"provenance": PROVENANCE, "result": {"effect": "allow"}}).encode()


def half_then(end: Play) -> Play:
    """The head and half of a good answer, then something else."""
    return faults.half_then(GOOD, end)


drip = faults.drip(GOOD)


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
            while request := read_request(peer):
                self.requests.append(request)
                part = self._parts.pop(0) if len(self._parts) > 1 else self._parts[0]
                part(peer)


@contextmanager
def stub(path: Path, *parts: Play) -> Iterator[Stub]:
    """A stub engine for the time of the block."""
    server = Stub(path, list(parts))
    try:
        yield server
    finally:
        server.end()
