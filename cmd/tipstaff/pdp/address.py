"""The address of a remote OPA, and which addresses are acceptable: HTTPS, or HTTP to loopback with a token."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path
from urllib.parse import SplitResult, urlsplit

from tipstaff.errors import ContractError
from tipstaff.files import read_named

_PEM_BYTES = 1 << 20
_PORTS = {"http": 80, "https": 443}
_TOKEN = re.compile(r"[A-Za-z0-9._~+/=-]+")


@dataclass(frozen=True)
class Remote:
    """A remote OPA: its URL, a bearer token, the PEM file of the authority for its certificate.

    ``certificate`` and ``key`` are the PEM files by which we name ourselves to it. Making one raises ``ContractError``
    (``opa.url``, ``opa.token``, ``opa.certificate``) where one of them could mislead.
    """

    url: str
    token: str | None = None
    ca: Path | None = None
    certificate: Path | None = None
    key: Path | None = None

    def __post_init__(self) -> None:
        _check(self.url, self.token)
        if (self.certificate is None) != (self.key is None):
            absent = "TIPSTAFF_OPA_CLIENT_KEY" if self.certificate else "TIPSTAFF_OPA_CLIENT_CERT"
            raise ContractError(
                "opa.certificate",
                "a client certificate and its private key belong together; one of them is not named",
                field=absent,
                fix=f"set {absent}, or unset the other one",
            )

    @classmethod
    def from_environment(cls) -> Remote | None:
        """The one that ``TIPSTAFF_OPA_URL`` and the variables beside it name; None without a URL."""
        url = os.environ.get("TIPSTAFF_OPA_URL")
        if not url:
            return None
        names = ("TIPSTAFF_OPA_CA", "TIPSTAFF_OPA_CLIENT_CERT", "TIPSTAFF_OPA_CLIENT_KEY")
        files = (os.environ.get(name) for name in names)
        paths = (Path(file) if file else None for file in files)
        return cls(url, os.environ.get("TIPSTAFF_OPA_TOKEN") or None, *paths)

    @property
    def parts(self) -> SplitResult:
        """The URL taken apart."""
        return urlsplit(self.url)

    @property
    def host(self) -> str:
        """The host's name or number, without brackets."""
        return self.parts.hostname or ""

    @property
    def port(self) -> int:
        """The port, also where the URL leaves it to the scheme."""
        return self.parts.port or _PORTS[self.parts.scheme]

    @property
    def is_encrypted(self) -> bool:
        """Whether it is spoken to over TLS."""
        return self.parts.scheme == "https"


def demand_readable(remote: Remote) -> None:
    """Raise ``ContractError`` (``opa.ca``, ``opa.certificate``) for what is no file: TLS would wait for a pipe."""
    for code, field, file in (
        ("opa.ca", "TIPSTAFF_OPA_CA", remote.ca),
        ("opa.certificate", "TIPSTAFF_OPA_CLIENT_CERT", remote.certificate),
        ("opa.certificate", "TIPSTAFF_OPA_CLIENT_KEY", remote.key),
    ):
        try:
            if file is not None:
                read_named(file, limit=_PEM_BYTES)
        except OSError as error:
            raise unreadable(code, field, error) from error


def unreadable(code: str, field: str, error: Exception) -> ContractError:
    """The error for a PEM file that the variable ``field`` names."""
    return ContractError(
        code, str(error), field=field, fix="name readable PEM files that belong together"
    )


def _check(url: str, token: str | None) -> None:
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


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def _unusable(why: str) -> ContractError:
    return ContractError("opa.url", why, field="TIPSTAFF_OPA_URL", fix="use https://host[:port]")
