"""A sidecar somewhere else: HTTPS, or HTTP to the loopback interface, with a token, as one more ``Transport``."""

from __future__ import annotations

import os
import re
import socket
import ssl
from ipaddress import ip_address
from socket import socket as Connection
from urllib.parse import SplitResult, urlsplit

from tipstaff.errors import ContractError
from tipstaff.pdp.answer import remaining
from tipstaff.pdp.transport import StreamTransport

_PORTS = {"http": 80, "https": 443}
_TOKEN = re.compile(r"[A-Za-z0-9._~+/=-]+")


class RemoteTransport(StreamTransport):
    """The transport to the OPA at a URL; plain HTTP is accepted only to loopback, and only with a token."""

    nothing_yet = (BlockingIOError, ssl.SSLWantReadError)

    def __init__(self, url: str, *, token: str | None, ca: str | None) -> None:
        parts = _checked(url, token)
        self._address = (parts.hostname or "", parts.port or _PORTS[parts.scheme])
        self._prefix = parts.path.rstrip("/")
        self._trust = _trust(ca) if parts.scheme == "https" else None
        headers = {"Host": parts.netloc}
        if token:
            headers["Authorization"] = f"Bearer {token}"
        super().__init__(url, headers)

    @classmethod
    def from_environment(cls, url: str) -> RemoteTransport:
        """The transport to ``url`` with the token and CA file that the environment names."""
        return cls(
            url, token=os.environ.get("TIPSTAFF_OPA_TOKEN"), ca=os.environ.get("TIPSTAFF_OPA_CA")
        )

    def post(self, path: str, body: bytes, deadline: float) -> tuple[int, bytes]:
        """As every transport, below the URL's own path."""
        return super().post(self._prefix + path, body, deadline)

    def open(self, deadline: float) -> Connection:
        """Connect, and over HTTPS check that the certificate is the host's and from the CA."""
        connection = socket.create_connection(self._address, timeout=remaining(deadline))
        try:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if self._trust is None:
                return connection
            connection.settimeout(remaining(deadline))
            return self._trust.wrap_socket(connection, server_hostname=self._address[0])
        except OSError:
            connection.close()
            raise


def _checked(url: str, token: str | None) -> SplitResult:
    try:
        parts = urlsplit(url)
        port_is_valid = parts.port != 0
    except ValueError as error:
        raise _unusable(str(error)) from error
    if not url.isascii() or not url.isprintable() or " " in url:
        raise _unusable("it has characters that no URL has")
    if parts.scheme not in _PORTS or not parts.hostname or "@" in parts.netloc or not port_is_valid:
        raise _unusable("it is not an http or https URL without credentials in it")
    if parts.scheme == "http" and not (token and _is_loopback(parts.hostname)):
        raise _unusable("plain http is only for loopback, and only with TIPSTAFF_OPA_TOKEN")
    if token and not _TOKEN.fullmatch(token):
        raise ContractError(
            "opa.token",
            "it has characters that no bearer token has",
            field="TIPSTAFF_OPA_TOKEN",
            fix="give the token alone, without spaces or line ends",
        )
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
