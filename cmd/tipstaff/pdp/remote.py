"""A sidecar somewhere else, over HTTPS or HTTP to the loopback interface, as one more ``Transport``."""

from __future__ import annotations

import socket
import ssl
from pathlib import Path
from socket import socket as Connection

from tipstaff.errors import ContractError
from tipstaff.pdp.address import Remote
from tipstaff.pdp.answer import remaining
from tipstaff.pdp.transport import StreamTransport


class RemoteTransport(StreamTransport):
    """The transport to a remote OPA. Raises ``ContractError`` (``opa.ca``) where the CA's file is none."""

    nothing_yet = (BlockingIOError, ssl.SSLWantReadError)

    def __init__(self, remote: Remote) -> None:
        self._address = (remote.host, remote.port)
        self._prefix = remote.parts.path.rstrip("/")
        self._trust = _trust(remote.ca) if remote.is_encrypted else None
        headers = {"Host": remote.parts.netloc}
        if remote.token:
            headers["Authorization"] = f"Bearer {remote.token}"
        super().__init__(remote.url, headers)

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


def _trust(ca: Path | None) -> ssl.SSLContext:
    try:
        return ssl.create_default_context(cafile=ca)
    except OSError as error:
        raise ContractError(
            "opa.ca", str(error), field="TIPSTAFF_OPA_CA", fix="name a readable PEM file"
        ) from error
