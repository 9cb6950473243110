"""A sidecar somewhere else, over HTTPS or HTTP to the loopback interface, as one more ``Transport``."""

from __future__ import annotations

import socket
import ssl
from socket import socket as Connection

from tipstaff.documents.codes import CODES
from tipstaff.errors import DecisionError
from tipstaff.pdp.address import Remote, demand_readable, unreadable
from tipstaff.pdp.answer import remaining
from tipstaff.pdp.transport import StreamTransport


class RemoteTransport(StreamTransport):
    """The transport to a remote OPA.

    Raises ``ContractError`` (``opa.ca``, ``opa.certificate``) where a file of the CA, certificate or key is none.
    """

    nothing_yet = (BlockingIOError, ssl.SSLWantReadError)

    def __init__(self, remote: Remote) -> None:
        self._address = (remote.host, remote.port)
        self._prefix = remote.parts.path.rstrip("/")
        self._trust = _trust(remote) if remote.is_encrypted else None
        headers = {"Host": remote.parts.netloc}
        if remote.token:
            headers["Authorization"] = f"Bearer {remote.token}"
        super().__init__(remote.url, headers)

    def post(self, path: str, body: bytes, deadline: float) -> tuple[int, bytes]:
        """As every transport, below the URL's own path."""
        return super().post(self._prefix + path, body, deadline)

    def open(self, deadline: float) -> Connection:
        """Connect, and over HTTPS check that the certificate is the host's, valid now, and from the CA."""
        connection = socket.create_connection(self._address, timeout=remaining(deadline))
        try:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if self._trust is None:
                return connection
            connection.settimeout(remaining(deadline))
            return self._trust.wrap_socket(connection, server_hostname=self._address[0])
        except ssl.SSLCertVerificationError as error:
            connection.close()
            raise _refused("engine.certificate", error.verify_message, self._where) from error
        except ssl.SSLError as error:
            connection.close()
            raise self.lost(error) from error
        except OSError:
            connection.close()
            raise

    def lost(self, cause: BaseException | None) -> DecisionError:
        """As every transport, but a server that asks for another client certificate says so in TLS."""
        if isinstance(cause, ssl.SSLError) and "ALERT" in (cause.reason or ""):
            said = (cause.reason or "").lower().replace("_", " ")
            return _refused("engine.client_certificate", said, self._where)
        return super().lost(cause)


def _trust(remote: Remote) -> ssl.SSLContext:
    demand_readable(remote)
    try:
        trust = ssl.create_default_context(cafile=remote.ca)
    except OSError as error:
        raise unreadable("opa.ca", "TIPSTAFF_OPA_CA", error) from error
    trust.minimum_version = ssl.TLSVersion.TLSv1_2
    if remote.certificate is not None:
        try:
            trust.load_cert_chain(remote.certificate, remote.key, password=_no_password)
        except (OSError, ValueError) as error:
            raise unreadable("opa.certificate", "TIPSTAFF_OPA_CLIENT_CERT", error) from error
    return trust


def _no_password() -> str:
    """Without this, OpenSSL asks the terminal for the password of an encrypted key."""
    raise ValueError("the private key is encrypted")


def _refused(code: str, why: str, where: str) -> DecisionError:
    return DecisionError(
        code, f"{CODES[code].message}: {why}", file=where, fix=CODES[code].solution
    )
