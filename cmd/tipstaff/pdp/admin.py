"""Looking after a remote OPA with opa-python-client: is it healthy, which policies does it hold.

The client speaks only TCP (it has a host and a port, no unix socket), so it serves remote addresses; the sidecar's
own socket is asked by ``client.py`` and closed to everything here. Decisions never go this way, nor do uploads.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from tipstaff.errors import ContractError, DecisionError

_PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True)
class Remote:
    """A remote OPA: its URL (``https``, or ``http`` on loopback), a bearer token, the CA's PEM file."""

    url: str
    token: str | None = None
    ca: Path | None = None
    timeout_s: float = 5.0


def is_healthy(remote: Remote) -> bool:
    """Whether the server answers and says that its bundles and plugins are activated.

    Health says nothing about revisions; only an answer's provenance does.
    """
    with _client(remote) as client:
        return bool(client.check_health(query={"bundles": "true", "plugins": "true"}))


def policies(remote: Remote) -> list[str]:
    """The ids of the policies that the server holds, sorted.

    Raises ``DecisionError`` (``engine.http``, ``engine.unavailable``) when it refuses or can't be reached.
    """
    from requests import HTTPError, RequestException

    try:
        with _client(remote) as client:
            return sorted(str(name) for name in client.get_policies_list())
    except HTTPError as error:
        raise _failure("engine.http", remote, str(error)) from error
    except RequestException as error:
        raise _failure("engine.unavailable", remote, str(error)) from error


def _client(remote: Remote) -> Any:
    from opa_client.opa import OpaClient

    parts = urlsplit(remote.url)
    is_local = parts.hostname in ("127.0.0.1", "::1", "localhost")
    if (
        parts.scheme not in _PORTS
        or not parts.hostname
        or (parts.scheme == "http" and not is_local)
    ):
        raise ContractError(
            "opa.url",
            "the engine's address must be https, or http on loopback",
            field="TIPSTAFF_OPA_URL",
            fix="give an address such as https://opa.example.com:8181",
        )
    is_secure = parts.scheme == "https"
    client = OpaClient(
        host=f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname,
        port=parts.port or _PORTS[parts.scheme],
        ssl=(str(remote.ca) if remote.ca else True) if is_secure else False,
        token=remote.token,
        retries=0,
        timeout=remote.timeout_s,
    )
    # Else a ~/.netrc entry would replace our token and a proxy variable would be told it.
    client._session.trust_env = False
    return client


def _failure(code: str, remote: Remote, why: str) -> DecisionError:
    return DecisionError(code, why, file=remote.url, fix="check the address, the token and the CA")
