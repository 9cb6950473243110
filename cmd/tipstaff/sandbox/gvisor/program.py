"""gVisor's program: where it is, which version it is, and how it gets into the managed cache.

It is looked for in ``TIPSTAFF_RUNSC``, on ``PATH`` and in the managed cache, in this order. A program named by
``TIPSTAFF_RUNSC`` is used or refused; nothing takes its place. None is ever fetched or built on the way to a run.
"""

from __future__ import annotations

import mmap
import os
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

from tipstaff.errors import SandboxError
from tipstaff.pdp.gobuild import InstallationError, build
from tipstaff.pdp.places import cache_home, held

VERSION = "v0.0.0-20260905035102-160fafc42237"
MODULE = f"gvisor.dev/gvisor/runsc@{VERSION}"
_BUILT_FROM = re.compile(rb"\nmod\tgvisor\.dev/gvisor\t(v[\w.+-]{1,60})[\t\n]")
_SAID = re.compile(rb"^runsc version (\S{1,60})$", re.M)
_VERSION_S = 20.0
_INSTALL_S = 1800.0


def programs() -> tuple[Path, ...]:
    """Every ``runsc`` to try, best first; being in this list says nothing about whether it works."""
    if named := os.environ.get("TIPSTAFF_RUNSC"):
        return (Path(named).resolve(),)
    on_path = shutil.which("runsc")
    found = (Path(on_path).resolve() if on_path else None, managed_path())
    return tuple(path for path in found if path is not None and path.is_file())


def managed_path() -> Path:
    """Where the managed cache keeps the pinned version's program."""
    return cache_home() / "runsc" / VERSION / "runsc"


def install(say: Callable[[str], None]) -> Path:
    """Build the pinned version into the managed cache, unless it is there; ``say`` hears how it goes.

    Raises ``SandboxError`` (``sandbox.not_installed``).
    """
    target = managed_path()
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with held(target.parent / "install.lock", timeout_s=_INSTALL_S):
            if version(target) != VERSION:
                _build(target, say)
    except (OSError, InstallationError) as error:
        raise SandboxError(
            "sandbox.not_installed",
            f"gVisor {VERSION} cannot be installed in {target}: {error}",
            fix="install Go 1.26 or newer and run again, or set TIPSTAFF_RUNSC to a runsc",
        ) from error
    return target


def _build(target: Path, say: Callable[[str], None]) -> None:
    with TemporaryDirectory(dir=target.parent, prefix=".install-") as name:
        program = build(MODULE, f"gVisor {VERSION}", Path(name), say)
        program.chmod(0o755)
        said = version(program)
        if said != VERSION:
            raise InstallationError(f"the new program says it is {said or 'no runsc'}")
        os.replace(program, target)
    say(f"gVisor {VERSION} is installed in {target}")


def version(program: Path) -> str | None:
    """The module version that Go built a program from, else the release that it says it is; None if it is no runsc."""
    try:
        return _built_from(program) or _said(program)
    except (OSError, ValueError, subprocess.SubprocessError):
        return None


def _built_from(program: Path) -> str | None:
    with program.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        found = _BUILT_FROM.search(data)
        return found[1].decode("ascii") if found else None


def _said(program: Path) -> str | None:
    answer = subprocess.run(
        [str(program), "--version"],
        env={},
        cwd="/",
        capture_output=True,
        timeout=_VERSION_S,
        check=False,
    )
    found = _SAID.search(answer.stdout)
    return found[1].decode("ascii") if found else None
