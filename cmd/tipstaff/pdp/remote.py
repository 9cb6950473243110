"""A sidecar somewhere else: HTTP or HTTPS with a token, behind the same ``Transport`` as the socket.

Plain HTTP is accepted only to the loopback interface, and only with a token.
"""

from __future__ import annotations

import http.client
import os
import ssl
import time
from ipaddress import ip_address
from urllib.parse import SplitResult, urlsplit

from tipstaff.errors import ContractError, DecisionError

_LARGEST_ANSWER = 8 << 20
_CHUNK = 1 << 16


class RemoteTransport:
    """One kept-alive connection to the OPA at a URL."""

    def __init__(self, url: str, *, token: str | None, ca: str | None) -> None:
        self._url = _checked(url, token)
        self._headers = {"Content-Type": "application/json"}
        if token:
            self._headers["Authorization"] = f"Bearer {token}"
        self._context = _trust(ca) if self._url.scheme == "https" else None
        self._connection: http.client.HTTPConnection | None = None

    @classmethod
    def from_environment(cls, url: str) -> RemoteTransport:
        """The transport to ``url`` with the token and CA file that the environment names."""
        return cls(
            url, token=os.environ.get("TIPSTAFF_OPA_TOKEN"), ca=os.environ.get("TIPSTAFF_OPA_CA")
        )

    def post(self, path: str, body: bytes, deadline: float) -> tuple[int, bytes]:
        """Send one question and read the whole answer before ``deadline`` (monotonic seconds)."""
        try:
            connection = self._connect(deadline)
            connection.request("POST", self._url.path.rstrip("/") + path, body, self._headers)
            response = connection.getresponse()
            return response.status, self._read(connection, response, deadline)
        except TimeoutError as error:
            self.close()
            raise _late() from error
        except (OSError, http.client.HTTPException) as error:
            self.close()
            raise DecisionError(
                "engine.unavailable",
                f"the engine at {self._url.hostname} did not answer: {error}",
                fix="check TIPSTAFF_OPA_URL and that OPA runs there",
            ) from error

    def close(self) -> None:
        """Drop the connection."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _connect(self, deadline: float) -> http.client.HTTPConnection:
        left = _left(deadline)
        if self._connection is None:
            host, port = self._url.hostname or "", self._url.port
            if self._context is not None:
                self._connection = http.client.HTTPSConnection(
                    host, port, timeout=left, context=self._context
                )
            else:
                self._connection = http.client.HTTPConnection(host, port, timeout=left)
        elif self._connection.sock is not None:
            self._connection.sock.settimeout(left)
        return self._connection

    @staticmethod
    def _read(
        connection: http.client.HTTPConnection, response: http.client.HTTPResponse, deadline: float
    ) -> bytes:
        data = bytearray()
        while True:
            # A server that sends a byte now and then must not outlast the deadline.
            if connection.sock is not None:
                connection.sock.settimeout(_left(deadline))
            chunk = response.read1(_CHUNK)
            if not chunk and response.length:
                raise http.client.IncompleteRead(bytes(data), response.length)
            if not chunk:
                return bytes(data)
            data += chunk
            if len(data) > _LARGEST_ANSWER:
                raise http.client.HTTPException("the answer is too large")


def _checked(url: str, token: str | None) -> SplitResult:
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.username:
        raise _unusable("it is not an http or https URL without credentials in it")
    if parts.scheme == "http" and not (token and _is_loopback(parts.hostname)):
        raise _unusable("plain http is only for loopback, and only with TIPSTAFF_OPA_TOKEN")
    return parts


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def _trust(ca: str | None) -> ssl.SSLContext:
    try:
        return ssl.create_default_context(cafile=ca)
    except OSError as error:
        raise ContractError(
            "opa.ca", str(error), field="TIPSTAFF_OPA_CA", fix="name a readable PEM file"
        ) from error


def _unusable(why: str) -> ContractError:
    return ContractError("opa.url", why, field="TIPSTAFF_OPA_URL", fix="use https://host[:port]")


def _left(deadline: float) -> float:
    left = deadline - time.monotonic()
    if left <= 0:
        raise _late()
    return left


def _late() -> DecisionError:
    return DecisionError(
        "engine.timeout", "the engine did not answer in time", fix="see `tipstaff doctor`"
    )
