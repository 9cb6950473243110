"""A PostgreSQL server of its own on a unix socket, as a user who is not root."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

NOBODY = 65534


def _program(name: str) -> Path | None:
    found = shutil.which(name)
    newest = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"))
    return Path(found) if found else newest[-1] if newest else None


def is_here() -> bool:
    """Whether there is a server to start."""
    return _program("initdb") is not None


@contextmanager
def a_server() -> Iterator[str]:
    """A running server; the URL of its database."""
    initdb, pg_ctl = _program("initdb"), _program("pg_ctl")
    assert initdb is not None
    assert pg_ctl is not None
    folder = Path(tempfile.mkdtemp(prefix="tipstaff-postgresql-"))
    user = {"user": NOBODY, "group": NOBODY, "extra_groups": []} if os.geteuid() == 0 else {}
    if user:
        os.chown(folder, NOBODY, NOBODY)
    data = folder / "data"

    def run(*arguments: str | Path) -> None:
        environment = {"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8", "HOME": str(folder)}
        done = subprocess.run(
            arguments, cwd=folder, env=environment, text=True, check=False,
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, **user,
        )  # type: ignore[call-overload]  # fmt: skip
        assert done.returncode == 0, done.stderr

    try:
        run(initdb, "-D", data, "-U", "tipstaff", "-A", "trust", "-E", "UTF8")
        options = f"-c listen_addresses='' -c unix_socket_directories={folder}"
        run(pg_ctl, "-D", data, "-w", "-t", "120", "-l", folder / "log", "-o", options, "start")
        try:
            yield f"postgresql://tipstaff@/postgres?host={folder}"
        finally:
            run(pg_ctl, "-D", data, "-m", "immediate", "-w", "stop")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
