"""Looking after a remote OPA with opa-python-client: is it healthy, which policies does it hold.

The client speaks only TCP (it has a host and a port, no unix socket), so it serves remote addresses; the sidecar's
own socket is asked by ``client.py`` and closed to everything here. Decisions never go this way, nor do uploads.
"""

from __future__ import annotations

from typing import Any

from tipstaff.errors import DecisionError
from tipstaff.pdp.address import Remote, demand_readable

_TIMEOUT_S = 5.0


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

    demand_readable(remote)
    client = OpaClient(
        host=f"[{remote.host}]" if ":" in remote.host else remote.host,
        port=remote.port,
        ssl=(str(remote.ca) if remote.ca else True) if remote.is_encrypted else False,
        cert=(str(remote.certificate), str(remote.key)) if remote.certificate else None,
        token=remote.token,
        retries=0,
        timeout=_TIMEOUT_S,
    )
    # Else a ~/.netrc entry would replace our token and a proxy variable would be told it.
    client._session.trust_env = False
    return client


def _failure(code: str, remote: Remote, why: str) -> DecisionError:
    return DecisionError(code, why, file=remote.url, fix="check the address, the token and the CA")
