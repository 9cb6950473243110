"""Reading one HTTP/1.1 answer from a connection, strictly: only what OPA's server sends is understood."""

from __future__ import annotations

import re
import time
from socket import socket as Connection
from typing import NoReturn

from tipstaff.documents.codes import CODES
from tipstaff.errors import DecisionError

MAX_ANSWER_BYTES = 8 << 20
_MAX_HEAD_BYTES = 32 << 10
_RECEIVE_BYTES = 64 << 10
_STATUS = re.compile(rb"HTTP/1\.1 ([1-5]\d\d)(?: [^\r\n]*)?\Z")
_HEADER = re.compile(rb"([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*([^\r\n\0]*?)[ \t]*\Z")
_CHUNK = re.compile(rb"[0-9A-Fa-f]{1,7}\Z")
_LENGTH = re.compile(rb"\d{1,12}\Z")


class Reader:
    """The bytes of one answer, asked for as they are needed."""

    def __init__(self, connection: Connection, deadline: float) -> None:
        self._connection = connection
        self._deadline = deadline
        self._bytes = bytearray()
        self.has_begun = False

    def answer(self) -> tuple[int, bytes, bool]:
        """Status, body, and whether the connection may serve another exchange."""
        status, headers = self._head()
        length, coding = headers.get(b"content-length"), headers.get(b"transfer-encoding")
        if b"content-encoding" in headers or (length is None) == (coding is None):
            _malformed("the answer has no plain body of a known length")
        body = self._exactly(_size(length)) if length is not None else self._chunks(coding)
        if self._bytes:
            _malformed("bytes follow the answer")
        return status, body, headers.get(b"connection", b"").lower() != b"close"

    def _head(self) -> tuple[int, dict[bytes, bytes]]:
        lines = self._until(b"\r\n\r\n", _MAX_HEAD_BYTES).split(b"\r\n")
        status = _STATUS.match(lines[0])
        if status is None or status.group(1) < b"200":
            _malformed("the answer does not begin as HTTP/1.1")
        headers: dict[bytes, bytes] = {}
        for line in lines[1:]:
            header = _HEADER.match(line)
            if header is None:
                _malformed("a header of the answer is not one")
            name = header.group(1).lower()
            if name in headers and name in (b"content-length", b"transfer-encoding"):
                _malformed("the answer gives its length twice")
            headers[name] = header.group(2)
        return int(status.group(1)), headers

    def _chunks(self, coding: bytes | None) -> bytes:
        if coding is None or coding.lower() != b"chunked":
            _malformed("the answer's transfer coding is not chunked")
        parts: list[bytes] = []
        total = 0
        while True:
            line = self._until(b"\r\n", 16)
            size = int(line, 16) if _CHUNK.match(line) else _malformed("a chunk has no size")
            total += size
            if total > MAX_ANSWER_BYTES:
                _too_large()
            part = self._exactly(size)
            if self._exactly(2) != b"\r\n":
                _malformed("a chunk does not end where it says")
            if not size:
                return b"".join(parts)
            parts.append(part)

    def _until(self, mark: bytes, limit: int) -> bytes:
        start = 0
        while (place := self._bytes.find(mark, start)) < 0:
            start = max(0, len(self._bytes) - len(mark) + 1)
            if len(self._bytes) > limit:
                _malformed("a line of the answer is too long")
            self._fill()
        found = bytes(self._bytes[:place])
        del self._bytes[: place + len(mark)]
        return found

    def _exactly(self, size: int) -> bytes:
        while len(self._bytes) < size:
            self._fill()
        found = bytes(self._bytes[:size])
        del self._bytes[:size]
        return found

    def _fill(self) -> None:
        self._connection.settimeout(remaining(self._deadline))
        received = self._connection.recv(_RECEIVE_BYTES)
        if not received:
            raise EOFError
        self.has_begun = True
        self._bytes += received


def remaining(deadline: float) -> float:
    """Seconds until the deadline on the monotonic clock; raises ``TimeoutError`` when it has passed."""
    left = deadline - time.monotonic()
    if left <= 0:
        raise TimeoutError
    return left


def _size(length: bytes) -> int:
    size = int(length) if _LENGTH.match(length) else _malformed("Content-Length is no number")
    return size if size <= MAX_ANSWER_BYTES else _too_large()


def _too_large() -> NoReturn:
    _malformed(f"the answer is larger than {MAX_ANSWER_BYTES} bytes")


def _malformed(why: str) -> NoReturn:
    raise DecisionError(
        "engine.malformed",
        why,
        fix=CODES["engine.malformed"].solution,
    )
