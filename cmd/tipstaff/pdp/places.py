"""Folders of this user: where what is made lies, closed to others, and one process at work in it at a time."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from tipstaff.errors import DecisionError
from tipstaff.files import locked, private_folder


def cache_home() -> Path:
    """Where things that can be made again lie: ``$XDG_CACHE_HOME/tipstaff``."""
    return _home("XDG_CACHE_HOME", ".cache") / "tipstaff"


def state_home() -> Path:
    """Where what must outlast a project lies, keys and witness: ``$XDG_STATE_HOME/tipstaff``."""
    return _home("XDG_STATE_HOME", ".local/state") / "tipstaff"


def witness_folder() -> Path:
    """Where what must outlast the state folder goes, outside the project: checkpoints of the trail, bundles' marks."""
    return state_home() / "witness"


def _home(variable: str, otherwise: str) -> Path:
    named = os.environ.get(variable, "")
    return Path(named) if named.startswith("/") else Path.home() / otherwise


def closed_folder(path: Path) -> Path:
    """Make the folder with mode 0700, or accept it if it is exactly that and ours; returns it.

    Raises ``DecisionError`` (``folder.exposed``) for a link, another owner or a wider mode.
    """
    private_folder(path)
    check_closed(path)
    return path


def check_closed(path: Path) -> None:
    """Refuse a folder as ``closed_folder`` does, but make none; raises ``FileNotFoundError`` where there is none."""
    facts = path.lstat()
    mode = stat.S_IMODE(facts.st_mode)
    if stat.S_ISDIR(facts.st_mode) and facts.st_uid == os.geteuid() and not mode & 0o077:
        return
    raise DecisionError(
        "folder.exposed",
        f"the folder belongs to uid {facts.st_uid} with mode {mode:04o}; it must be ours with 0700",
        file=str(path),
        fix="remove the folder, or make it yours and `chmod 700` it",
    )


@contextmanager
def held(path: Path, *, timeout_s: float) -> Iterator[None]:
    """Hold the file as an exclusive lock among processes.

    Raises ``DecisionError`` (``lock.timeout``) when another process keeps it for ``timeout_s`` seconds.
    """
    with ExitStack() as stack:
        try:
            stack.enter_context(locked(path, timeout_s=timeout_s))
        except TimeoutError as error:
            raise DecisionError(
                "lock.timeout",
                f"another process held the lock for {timeout_s:g} s",
                file=str(path),
                fix="wait for the other run of tipstaff to end, then try again",
            ) from error
        yield
