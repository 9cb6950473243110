"""Running git so that neither its configuration nor the environment can change what it does.

Hooks, filters by attribute files, replacement objects, prompts and optional locks are off. The user's own
configuration still names remotes, credentials and trusted folders.
"""

from __future__ import annotations

import os
import re
import resource
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tipstaff.documents.text import visible
from tipstaff.errors import ContractError, EvidenceError

TIMEOUT_S = 120.0
_SETTINGS = (
    "core.hooksPath=/dev/null",
    "core.attributesFile=/dev/null",
    "core.fsmonitor=false",
    "core.untrackedCache=false",
    "core.autocrlf=false",
    "core.safecrlf=false",
    "core.quotePath=true",
    "core.protectHFS=true",
    "core.protectNTFS=true",
    "core.pager=cat",
    "apply.whitespace=nowarn",
    "apply.ignoreWhitespace=no",
    "commit.gpgSign=false",
    "i18n.commitEncoding=UTF-8",
    "push.gpgSign=false",
    "push.followTags=false",
    "push.recurseSubmodules=no",
    "gc.auto=0",
    "maintenance.auto=false",
    "advice.detachedHead=false",
)
_ENVIRONMENT = {
    "LC_ALL": "C",
    "LANGUAGE": "C",
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_LITERAL_PATHSPECS": "1",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_PAGER": "cat",
    "GIT_TERMINAL_PROMPT": "0",
}


@dataclass(frozen=True)
class Call:
    """How one git command runs: its folder, standard input, further variables, seconds and bytes of memory."""

    cwd: Path
    stdin: bytes = b""
    environment: Mapping[str, str] = field(default_factory=dict)
    timeout_s: float = TIMEOUT_S
    memory_bytes: int | None = None


@dataclass(frozen=True)
class Answer:
    """What git said: exit status, standard output, and its complaint made safe to show."""

    status: int
    out: bytes
    complaint: str


def environment(extra: Mapping[str, str]) -> dict[str, str]:
    """The process environment without any inherited ``GIT_*`` variable, with the fixed ones and ``extra``."""
    inherited = {key: value for key, value in os.environ.items() if not key.startswith("GIT_")}
    return {**inherited, **_ENVIRONMENT, **extra}


def run(arguments: Sequence[str | bytes], call: Call) -> Answer:
    """Run git once and return its answer whatever its status.

    Raises ``ContractError`` (``git.missing``) without git, and ``EvidenceError`` (``git.timeout``).
    """
    settings = [part for setting in _SETTINGS for part in ("-c", setting)]
    try:
        process = subprocess.Popen(
            ["git", "--no-pager", *settings, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=call.cwd,
            env=environment(call.environment),
        )
    except FileNotFoundError as error:
        raise ContractError(
            "git.missing", "git was not found on PATH", fix="install git 2.30 or later"
        ) from error
    with process:
        return _finish(process, call)


def discover(start: Path) -> tuple[Path, Path]:
    """The working tree that holds a folder, and its git folder; raises ``ContractError`` (``repository.*``)."""
    if not start.is_dir():
        raise _unusable("repository.missing", "is not a folder", start, "name a folder")
    call = Call(start)
    bare = run(("rev-parse", "--is-bare-repository"), call)
    if bare.status and "dubious ownership" in bare.complaint:
        raise _unusable(
            "repository.untrusted",
            "belongs to another user, and git does not trust it",
            start,
            "own the folder, or add it with git config --global --add safe.directory",
        )
    if bare.status:
        raise _unusable(
            "repository.missing",
            "is not in a git repository",
            start,
            "run this inside a clone, or start one with git init",
        )
    top = run(("rev-parse", "--show-toplevel"), call)
    if bare.out.strip() == b"true" or top.status:
        raise _unusable(
            "repository.bare",
            "is in a repository without a working tree",
            start,
            "clone it and run this inside the clone",
        )
    folder = run(("rev-parse", "--absolute-git-dir"), call)
    return Path(os.fsdecode(top.out[:-1])), Path(os.fsdecode(folder.out[:-1]))


def _unusable(code: str, message: str, start: Path, fix: str) -> ContractError:
    return ContractError(code, f"the folder {message}", file=str(start), fix=fix)


def identity(author: str) -> tuple[str, str]:
    """Name and mail of an author given as ``Name <mail>`` or as a plain id."""
    match = re.fullmatch(r"([^<>]*)<([^<>]*)>\s*", author)
    name, mail = match.groups() if match else (author, author)
    name, mail = ("".join(filter(str.isprintable, part)).strip(" <>") for part in (name, mail))
    return name or mail or "tipstaff", mail or "tipstaff@localhost"


def _finish(process: subprocess.Popen[bytes], call: Call) -> Answer:
    # git waits for its input, so the limit is in force before the first byte of it is read.
    if call.memory_bytes is not None:
        limits = (call.memory_bytes, call.memory_bytes)
        resource.prlimit(process.pid, resource.RLIMIT_DATA, limits)
    try:
        out, err = process.communicate(call.stdin, timeout=call.timeout_s)
    except subprocess.TimeoutExpired as error:
        process.kill()
        process.communicate()
        raise EvidenceError(
            "git.timeout",
            f"git did not finish within {call.timeout_s:g} s",
            fix="look for a lock, a hanging remote or a full disk, then try again",
        ) from error
    except BaseException:
        process.kill()
        raise
    complaint = visible(err.decode("utf-8", "replace").strip(), multiline=True)
    return Answer(process.returncode, out, complaint)
