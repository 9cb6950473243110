"""What a request must be like before anything of it is believed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tipstaff.surfaces.web.admission import CHALLENGE
from tipstaff.surfaces.web.refused import Refused

PATH = "/mcp"
_METHODS = ("POST", "DELETE")
# What a proxy and a server could read apart, if it were said twice.
_ONCE = frozenset(
    (
        *("host", "origin", "authorization", "content-type", "content-length", "content-encoding"),
        *("mcp-session-id", "mcp-protocol-version"),
    )
)
Headers = Mapping[str, str]


def headers_of(raw: Iterable[tuple[bytes, bytes]]) -> dict[str, str]:
    """The headers by lower-case name. Raises ``Refused`` where one that counts is there twice."""
    found: dict[str, str] = {}
    for name_bytes, value in raw:
        name = name_bytes.decode("latin-1").lower()
        if name in found and name in _ONCE:
            raise Refused(400, "mcp.request", f"the header {name} is there twice")
        found[name] = value.decode("latin-1")
    return found


def demand_place(
    method: str, path: str, query: bytes, headers: Headers, hosts: frozenset[str]
) -> None:
    """Refuse foreign hosts and origins, then places and methods that are not served.

    A page that a browser shows can send neither header as it likes, so it never gets as far as a token.
    """
    if headers.get("host", "") not in hosts:
        raise Refused(403, "mcp.host", "the Host header is not this server's")
    origin = headers.get("origin")
    if origin is not None and origin not in {f"http://{host}" for host in hosts}:
        raise Refused(403, "mcp.origin", "the Origin header is another site's")
    if path != PATH or query:
        raise Refused(404, "mcp.request", f"the only place here is {PATH}")
    if method not in _METHODS:
        allowed = {"Allow": ", ".join(_METHODS)}
        raise Refused(405, "mcp.request", f"the methods are {allowed['Allow']}", headers=allowed)


def bearer(headers: Headers) -> str:
    """The token that is presented. Raises ``Refused`` where none is."""
    kind, _, text = headers.get("authorization", "").partition(" ")
    if kind.lower() != "bearer" or not text:
        raise Refused(401, "mcp.unauthenticated", "a bearer token is needed", headers=CHALLENGE)
    return text


def demand_json(headers: Headers, who: str) -> None:
    """Refuse bodies that are not said to be plain JSON: others can be sent by a form of any page."""
    kind, _, parameters = headers.get("content-type", "").lower().partition(";")
    is_plain = parameters.strip().replace('"', "") in ("", "charset=utf-8")
    if kind.strip() != "application/json" or not is_plain:
        raise Refused(403, "mcp.content_type", "the body must be application/json", who=who)
    if headers.get("content-encoding", "identity").lower() != "identity":
        raise Refused(415, "mcp.content_type", "the body must not be compressed", who=who)
