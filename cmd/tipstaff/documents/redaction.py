"""Secrets taken out of what is kept or shown: by the name of their field, and by the form that they have in text.

What is done here is done before anything is digested or written, so that what is judged, kept and replayed is the same.
It is a net, not a wall: a secret that looks like an ordinary word passes.
"""

from __future__ import annotations

import re
from typing import Any

REDACTED = "[redacted]"
# Ends of the names of fields whose values are secrets, in lower case and without hyphens and underscores.
FIELDS = (
    "password",
    "passwd",
    "passphrase",
    "secret",
    "token",
    "apikey",
    "accesskey",
    "secretkey",
    "privatekey",
    "signingkey",
    "authorization",
    "cookie",
    "credential",
    "credentials",
    "connectionstring",
)
_NAME = (
    r"[\w.-]*(?:password|passwd|passphrase|secret|token|api[_-]?key|access[_-]?key"
    r"|secret[_-]?key|private[_-]?key|cookie|credentials?)"
)
_VALUE = r"""(?:"[^"]*"|'[^']*'|[^\s,;&"']+)"""
# What is replaced: all of a match, or what follows its group ``kept``.
_FORMS = tuple(
    re.compile(form, re.IGNORECASE if "(?P<kept>" in form else 0)
    for form in (
        r"-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)",
        r"\b(?:gh[a-z]_\w{16,}|github_pat_\w{16,}|glpat-[\w-]{16,}|xox[a-z]-[\w-]{10,}|npm_\w{30,})",
        r"\b(?:(?:AKIA|ASIA)[0-9A-Z]{16}|AIza[\w-]{30,}|ya29\.[\w-]{16,}|hf_\w{20,}|pypi-[\w-]{30,})",
        r"\b(?:sk-[\w-]{20,}|[sr]k_(?:live|test)_\w{16,}|SG\.[\w-]{16,}\.[\w-]{16,})",
        r"\btsmcp_[0-9a-f]{12}_[\w-]{16,}",
        r"\beyJ[\w-]{6,}\.[\w-]{8,}\.[\w-]*",
        r"(?P<kept>\bauthorization\s*[:=]\s*(?:(?:bearer|basic|token)\s+)?)[^\s,;\"']{8,}",
        r"(?P<kept>\b(?:bearer|basic)\s+)(?=[^\s,;]*\d)[\w.~+/=-]{8,}",
        r"(?P<kept>://)(?:[^\s/@:]*:[^\s/@]+|[^\s/@:]{20,})(?=@)",
        rf"(?P<kept>(?<![\w.-])--?{_NAME}(?:=|\s+)){_VALUE}",
        rf"(?P<kept>(?<![\w.-]){_NAME}=){_VALUE}",
        rf"(?P<kept>(?<![\w.-])[\"']?{_NAME}[\"']?:\s*)(?=[^\s,;]*\d){_VALUE}",
    )
)
# Cheap, and right about every text that has nothing to hide: plain searches of each of these take a tenth of the time
# of one pattern with all of them.
_SIGNS = (
    *("passw", "passphrase", "secret", "token", "authorization", "cookie", "credential"),
    *("bearer", "basic", "github_pat", "glpat", "xox", "npm_", "akia", "asia", "aiza", "ya29"),
    *("hf_", "pypi-", "tsmcp_", "sk-", "sk_", "rk-", "rk_", "sg.", "eyj", "://"),
)
_JOINED_SIGNS = ("apikey", "accesskey", "privatekey", "signingkey", "connectionstring")
_JOINTS = str.maketrans("", "", "_- ")
_GITHUB = re.compile(r"gh[a-z]_").search
_CREDENTIALS = re.compile(r"://[^\s/]*@").search


def is_suspicious(text: str) -> bool:
    """Whether the text may hold a secret at all."""
    plain = text.lower()
    signs = [sign for sign in _SIGNS if sign in plain]
    if signs and signs != ["://"]:
        return True
    if signs and _CREDENTIALS(plain):
        return True
    joined = plain.translate(_JOINTS)
    return any(sign in joined for sign in _JOINED_SIGNS) or _GITHUB(plain) is not None


def redact_text(text: str) -> str:
    """The text with what has the form of a secret replaced."""
    if not is_suspicious(text):
        return text
    for form in _FORMS:
        text = form.sub(_replaced, text)
    return text


def redact(value: Any) -> Any:
    """A JSON value with secrets replaced: whole values of secret fields, and parts of texts."""
    if isinstance(value, dict):
        return {key: _member(key, item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [redact(item) for item in value]
    return redact_text(value) if isinstance(value, str) else value


def _member(name: str, value: Any) -> Any:
    plain = name.lower().replace("-", "").replace("_", "")
    if plain.endswith(FIELDS) and value is not None and not isinstance(value, bool):
        return REDACTED
    return redact(value)


def _replaced(match: re.Match[str]) -> str:
    return (match.groupdict().get("kept") or "") + REDACTED
