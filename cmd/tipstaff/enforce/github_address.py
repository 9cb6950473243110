"""Where GitHub is, and which of its repositories an address names."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from tipstaff.errors import ForgeError

TIMEOUT_S = 10
_SLUG = re.compile(r"/?([A-Za-z0-9][A-Za-z0-9_-]{0,99})/([A-Za-z0-9._-]{1,100}?)(?:\.git)?/?")
_SCP = re.compile(r"(?:[A-Za-z0-9._-]+@)?([A-Za-z0-9.-]+):(?!/)(.+)")
_LOOPBACK = ("127.0.0.1", "localhost", "::1")


@dataclass(frozen=True)
class Server:
    """A GitHub: the addresses of its pages and of its API, the token, and the seconds one answer may take."""

    web: str
    api: str
    token: str = field(repr=False)
    timeout_s: int = TIMEOUT_S

    @staticmethod
    def host(environ: Mapping[str, str]) -> str:
        """The server's host name, from ``GITHUB_SERVER_URL``."""
        return urlsplit(_web(environ)).hostname or ""

    @classmethod
    def from_environment(cls, environ: Mapping[str, str]) -> Server | None:
        """The server that the ``GITHUB_*`` variables name; None without a token.

        Raises ``ForgeError`` (``forge.refused``) when the token would travel unencrypted to another machine.
        """
        token = environ.get("GITHUB_TOKEN", "").strip()
        if not token:
            return None
        web = _web(environ)
        own = "https://api.github.com" if web == "https://github.com" else f"{web}/api/v3"
        api = (environ.get("GITHUB_API_URL", "").strip() or own).rstrip("/")
        parts = urlsplit(api)
        if parts.scheme != "https" and not (parts.scheme == "http" and parts.hostname in _LOOPBACK):
            raise ForgeError(
                "forge.refused",
                "the token is sent over https only",
                field="GITHUB_API_URL",
                fix="give an https address",
            )
        return cls(web, api, token)

    def git_credentials(self) -> dict[str, str]:
        """Variables by which git answers this server's https questions with the token, and no helper keeps it.

        The token is in the environment, not in the argument list, which other users can read.
        """
        helper = f"credential.{self.web}.helper"
        answer = (
            '!f() { test "$1" = get || exit 0; '
            'printf "username=x-access-token\\npassword=%s\\n" "$TIPSTAFF_PUSH_TOKEN"; }; f'
        )
        return {
            "GIT_CONFIG_COUNT": "2",
            "GIT_CONFIG_KEY_0": helper,
            "GIT_CONFIG_VALUE_0": "",
            "GIT_CONFIG_KEY_1": helper,
            "GIT_CONFIG_VALUE_1": answer,
            "TIPSTAFF_PUSH_TOKEN": self.token,
        }


def slug_of(url: str, host: str) -> str | None:
    """``owner/name`` of an https, ssh or scp-like address on that host; None for any other address."""
    scp = _SCP.fullmatch(url) if "://" not in url else None
    if scp:
        where, path = scp.groups()
    else:
        try:
            parts = urlsplit(url)
            where, path = parts.hostname or "", parts.path
        except ValueError:
            return None
        if parts.scheme not in ("https", "ssh") or parts.query or parts.fragment:
            return None
    found = _SLUG.fullmatch(path)
    # ssh.<host> is where GitHub answers ssh on port 443.
    if where.lower() not in (host, f"ssh.{host}") or not found or found[2] in (".", ".."):
        return None
    return f"{found[1]}/{found[2]}"


def _web(environ: Mapping[str, str]) -> str:
    return (environ.get("GITHUB_SERVER_URL", "").strip() or "https://github.com").rstrip("/")
