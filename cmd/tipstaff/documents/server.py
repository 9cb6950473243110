"""How an MCP server is reached: a stdio command or an address, and what it is given.

Variables of the environment stand here by name; their values are read when a server is observed, and kept nowhere.
"""

from __future__ import annotations

import ipaddress
import re
from typing import Annotated, Literal
from urllib.parse import SplitResult, urlsplit

from pydantic import AfterValidator, Field, model_validator
from pydantic_core import PydanticCustomError

from tipstaff.documents.base import Contract
from tipstaff.errors import ContractError

Capability = Literal["roots", "sampling", "elicitation"]
SERVER_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,199}")
_HEADER = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}")
# What the sandbox gives a server itself, and what MCP's transport puts into a request.
_OWN_VARIABLES = {"HOME", "PATH", "PYTHONDONTWRITEBYTECODE", "PYTHONHASHSEED", "TMPDIR"}
_OWN_HEADERS = {
    *("accept", "accept-encoding", "connection", "content-length", "content-type", "host"),
    *("last-event-id", "transfer-encoding", "upgrade"),
}


def _wrong(message: str, fix: str) -> PydanticCustomError:
    # The message is text to show, not a template.
    return PydanticCustomError("document.invalid", "{told}", {"told": message, "fix": fix})


_NAME_FIX = "use letters, digits, dots, dashes and underscores only, at most 100"


def demand_name(name: str) -> str:
    """The name; raises ``ContractError`` (``contract.name``) for one that no server and no file may have."""
    if not SERVER_NAME.fullmatch(name):
        raise ContractError(
            "contract.name", f"{name[:100]!r} is no name of a server", fix=_NAME_FIX
        )
    return name


def _server_name(name: str) -> str:
    if not SERVER_NAME.fullmatch(name):
        raise _wrong("a server's name is a file's name", _NAME_FIX)
    return name


def _command(words: list[str]) -> list[str]:
    if not words or not words[0].strip():
        raise _wrong("names no program", "write the program and its arguments, one entry each")
    if any("\0" in word for word in words):
        raise _wrong("holds a NUL byte", "write it as plain text")
    return words


def _url(text: str) -> str:
    try:
        parts = urlsplit(text)
        host = parts.hostname or ""
        _ = parts.port
    except ValueError as error:
        raise _wrong("is no address", "write it like https://host/mcp") from error
    if parts.scheme not in ("http", "https") or not host or not text.isascii() or " " in text:
        raise _wrong("is no address of http or https", "write it like https://host/mcp")
    if parts.username is not None or parts.password is not None:
        raise _wrong(
            "holds a user or a password",
            "name the variable that holds the header's value under headers",
        )
    if parts.fragment:
        raise _wrong("has a fragment, which no server ever sees", "leave out # and what follows")
    if parts.scheme == "http" and not _is_loopback(parts):
        raise _wrong("plain http leaves this machine", "use https, or a loopback address")
    return text


def _is_loopback(parts: SplitResult) -> bool:
    host = parts.hostname or ""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _variables(names: list[str]) -> list[str]:
    for name in names:
        _variable(name)
        if name in _OWN_VARIABLES:
            raise _wrong(f"the sandbox itself sets {name}", f"leave {name} out")
    if len(set(names)) != len(names):
        raise _wrong("a variable is named twice", "name each variable once")
    return names


def _variable(name: str) -> str:
    if not _VARIABLE.fullmatch(name):
        raise _wrong(
            "is no name of a variable",
            "write the variable's name alone, such as TZ; its value is read from the environment",
        )
    return name


def _header(name: str) -> str:
    if not _HEADER.fullmatch(name):
        raise _wrong("is no name of a header", "write it like Authorization")
    if name.lower() in _OWN_HEADERS or name.lower().startswith("mcp-"):
        raise _wrong(f"the transport itself sets {name}", f"leave {name} out")
    return name


def _each_once(names: list[Capability]) -> list[Capability]:
    if len(set(names)) != len(names):
        raise _wrong("a capability is named twice", "name each capability once")
    return names


ServerName = Annotated[str, AfterValidator(_server_name)]
Variable = Annotated[str, AfterValidator(_variable)]
HeaderName = Annotated[str, AfterValidator(_header)]


class Server(Contract):
    """One MCP server: a stdio ``command``, started in the sandbox, or the ``url`` of one that speaks streamable HTTP.

    ``environment`` names variables that a command gets, ``headers`` gives the variable that holds the value of each
    header sent to a URL, and ``client_capabilities`` is what the client declares, by which a server may list more.
    """

    command: Annotated[list[str], AfterValidator(_command)] | None = None
    url: Annotated[str, AfterValidator(_url)] | None = None
    headers: dict[HeaderName, Variable] = Field(default_factory=dict)
    environment: Annotated[list[str], AfterValidator(_variables)] = Field(default_factory=list)
    client_capabilities: Annotated[list[Capability], AfterValidator(_each_once)] = Field(
        default_factory=list
    )

    @model_validator(mode="after")
    def _one_way(self) -> Server:
        if (self.command is None) == (self.url is None):
            raise _wrong(
                "has a command and a url" if self.command else "has neither a command nor a url",
                "give exactly one of command and url",
            )
        if self.headers and self.url is None:
            raise _wrong("a command gets no headers", "remove headers, or give a url")
        if self.environment and self.command is None:
            raise _wrong("a url gets no environment", "remove environment, or give a command")
        if len({name.lower() for name in self.headers}) != len(self.headers):
            raise _wrong("a header is named twice", "name each header once, in one spelling")
        return self
