"""The project a command works on: its root, its state folder, its two configuration files, and who is at work.

Nothing here judges a value; it is read strictly, and an unknown key or value is a ``ContractError``.
"""

from __future__ import annotations

import hashlib
import os
import pwd
import secrets
import socket
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any
from uuid import UUID

from tipstaff import git
from tipstaff.documents import strict_yaml
from tipstaff.documents.base import Json, parse
from tipstaff.documents.config import LocalConfig, TeamConfig
from tipstaff.documents.context import Actor
from tipstaff.errors import ContractError

TEAM_FILE = "tipstaff.yaml"
LOCAL_FILE = "tipstaff.local.yaml"
# Variables by which coding agents mark the commands that they start.
_AGENT_VARIABLES = (
    "TIPSTAFF_NESTED",
    "CLAUDECODE",
    "CODEX_SANDBOX",
    "CURSOR_AGENT",
    "GEMINI_CLI",
    "OPENCODE",
)


@dataclass(frozen=True)
class ConfigFile:
    """One configuration file: what it says, and the SHA-256 of its bytes."""

    path: Path
    value: Json
    sha256: str


@dataclass(frozen=True)
class Project:
    """Where a project lies and what its files say. ``team`` or ``local`` is None where there is no file."""

    root: Path
    state: Path
    team: ConfigFile | None
    local: ConfigFile | None
    local_tracked: bool
    seen: tuple[tuple[int, int, int] | None, ...]

    @classmethod
    def find(cls, start: str | Path = ".") -> Project:
        """The project around a folder.

        Its root is the nearest folder upwards with a ``.git``, else with a ``tipstaff.yaml``, else the folder itself: a
        second ``tipstaff.yaml`` deeper in a repository rules nothing.
        """
        root = find_root(Path(start))
        seen = _file_states(root)
        local = _read(root / LOCAL_FILE, LocalConfig)
        return cls(
            root=root,
            state=state_folder(root),
            team=_read(root / TEAM_FILE, TeamConfig),
            local=local,
            local_tracked=local is not None and _tracked(root, LOCAL_FILE),
            seen=seen,
        )

    def current(self) -> Project:
        """This project, read again if one of its two files has changed."""
        return self if _file_states(self.root) == self.seen else Project.find(self.root)

    def team_setting(self, *path: str) -> Any:
        """A value of the team's file by its path of keys; None where it is not set."""
        value: Any = self.team.value if self.team else None
        for key in path:
            value = value.get(key) if isinstance(value, dict) else None
        return value


def state_folder(root: Path) -> Path:
    """Where a project's state lies: ``TIPSTAFF_STATE_DIR``, else ``.tipstaff`` in its root."""
    configured = os.environ.get("TIPSTAFF_STATE_DIR")
    return Path(configured).absolute() if configured else root / ".tipstaff"


def prepare(state: Path) -> Path:
    """Make the state folder if need be; nobody else may enter it, and git takes nothing of it, whatever it is told."""
    is_new = not state.exists()
    try:
        state.mkdir(mode=0o700, parents=True, exist_ok=True)
        if is_new:
            (state / ".gitignore").write_text("*\n", encoding="utf-8")
    except OSError as error:
        raise ContractError(
            "state.unusable",
            error.strerror or str(error),
            file=str(state),
            fix="make the folder writable, or set TIPSTAFF_STATE_DIR",
        ) from error
    return state


def find_root(start: Path) -> Path:
    """The folder that a project around ``start`` begins at; see ``Project.find``."""
    start = start.absolute()
    if not start.is_dir():
        raise ContractError(
            "project.none", "no such folder", file=str(start), fix="name an existing folder"
        )
    for mark in (".git", TEAM_FILE):
        for folder in (start, *start.parents):
            if (folder / mark).exists():
                return folder
    return start


def current_actor() -> Actor:
    """Who runs this: ``user@host``, and whether that is a person, an agent or CI.

    The user is the process's own, not what a variable says.
    """
    user = _user_at_host()
    if any(os.environ.get(name) for name in _AGENT_VARIABLES):
        return Actor(id=user, type="agent")
    if os.environ.get("CI"):
        return Actor(id=user, type="ci")
    return Actor(id=user, type="human")


@cache
def _user_at_host() -> str:
    try:
        user = pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        user = f"uid{os.getuid()}"
    return f"{user}@{socket.gethostname()}"


def utc_now() -> datetime:
    """The wall clock, in UTC; the one place that it is read for a document."""
    return datetime.now(UTC)


def timestamp(moment: datetime | None = None) -> str:
    """A moment (now, if none is given) as RFC 3339 in UTC with microseconds."""
    return (moment or utc_now()).astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def new_id() -> str:
    """A UUID of version 7: ordered by the millisecond it was made in (RFC 9562)."""
    milliseconds = time.time_ns() // 1_000_000
    value = (milliseconds & (2**48 - 1)) << 80 | secrets.randbits(80)
    value = value & ~(0xF << 76) | 0x7 << 76
    value = value & ~(0x3 << 62) | 0x2 << 62
    return str(UUID(int=value))


def _file_states(root: Path) -> tuple[tuple[int, int, int] | None, ...]:
    states: list[tuple[int, int, int] | None] = []
    for name in (TEAM_FILE, LOCAL_FILE):
        try:
            state = os.stat(os.path.join(root, name))
        except OSError:
            states.append(None)
        else:
            states.append((state.st_mtime_ns, state.st_size, state.st_ino))
    return tuple(states)


def _read(path: Path, model: type[TeamConfig] | type[LocalConfig]) -> ConfigFile | None:
    if not path.exists() and not path.is_symlink():
        return None
    return read_config(strict_yaml.read(path), path, model)


def read_config(data: bytes, path: Path, model: type[TeamConfig] | type[LocalConfig]) -> ConfigFile:
    """A configuration file of these bytes; ``path`` names it in errors.

    Raises ``ContractError`` (``config.*``, ``document.invalid``) that names file and field.
    """
    value = strict_yaml.loads(data, file=str(path))
    if not isinstance(value, dict):
        raise ContractError(
            "config.not_a_mapping",
            "the file is not a mapping of settings",
            file=str(path),
            fix="start it with `schema_version: 1`",
        )
    _refuse_empty(value, (), path)
    parse(model, value, file=str(path))
    return ConfigFile(path, value, hashlib.sha256(data).hexdigest())


def _refuse_empty(value: Any, at: tuple[str, ...], path: Path) -> None:
    if isinstance(value, dict):
        for key, item in value.items():
            _refuse_empty(item, (*at, str(key)), path)
    elif value is None and at != ("policy", "public_key"):
        raise ContractError(
            "config.empty_value",
            "has no value",
            file=str(path),
            field=".".join(at),
            fix="give it a value or remove the key",
        )


def _tracked(root: Path, name: str) -> bool:
    answer = git.run(("ls-files", "--error-unmatch", "--", name), git.Call(root))
    return answer.status == 0
