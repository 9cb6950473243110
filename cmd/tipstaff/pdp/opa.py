"""OPA's program: where it is, which version it is, and one way to run it.

It is looked for in ``TIPSTAFF_OPA``, on ``PATH`` and in the managed cache, in this order. A program named by
``TIPSTAFF_OPA`` is used or refused; nothing takes its place.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tipstaff.errors import DecisionError
from tipstaff.files import write_atomically
from tipstaff.pdp.places import cache_home, held

VERSION = "1.22.3"
MINIMUM = "1.21.3"
_VERSION_LINE = re.compile(rb"^Version: v?(\d{1,6}\.\d{1,6}\.\d{1,6}\S{0,40})$", re.MULTILINE)
_VERSION_TIMEOUT_S = 20.0
_INSTALL_TIMEOUT_S = 1800.0
_STRANGE = "check that this is OPA's program and that it can run here"
_SLOW = "find what takes so long: `opa test --verbose` tells the time of each test"


@dataclass(frozen=True)
class Opa:
    """One usable program: its path and the version it says it is."""

    path: Path
    version: str

    def run(
        self,
        args: Sequence[str],
        *,
        cwd: Path | None = None,
        timeout_s: float = 60.0,
        stdin: bytes = b"",
    ) -> subprocess.CompletedProcess[bytes]:
        """Run one command to its end in an empty environment; the exit code is the caller's to judge.

        Raises ``DecisionError`` (``opa.failed``) when it can't start or takes longer than ``timeout_s`` seconds.
        """
        try:
            return subprocess.run(
                [str(self.path), *args],
                cwd=cwd,
                env={},
                input=stdin,
                capture_output=True,
                timeout=timeout_s,
                check=False,
            )
        except subprocess.TimeoutExpired as error:
            raise _failure(
                self.path, f"`opa {args[0]}` came to no end within {timeout_s:g} s", _SLOW
            ) from error
        except OSError as error:
            raise _failure(self.path, error.strerror or str(error)) from error

    def evaluate(
        self,
        query: str,
        sources: Sequence[str],
        *,
        given: bytes | None = None,
        timeout_s: float = 60.0,
    ) -> dict[str, Any]:
        """OPA's whole reply to a query on what ``sources`` name (``--data`` or ``--bundle`` and the like).

        ``given`` is the input as JSON. A reply has ``result``, which is absent where the query is undefined, or
        ``errors``, each with its ``message``; built-ins that fail are errors. Raises as ``run`` does.
        """
        line = ["eval", "--format", "json", "--strict-builtin-errors", *sources]
        if given is not None:
            line.append("--stdin-input")
        answer = self.run([*line, query], stdin=given or b"", timeout_s=timeout_s)
        try:
            reply = json.loads(answer.stdout)
        except ValueError:
            reply = None
        if isinstance(reply, dict):
            return reply
        return {"errors": [{"message": answer.stderr.decode(errors="replace") or "no answer"}]}


def managed_path() -> Path:
    """Where the managed cache keeps the pinned version's program."""
    return cache_home() / "opa" / VERSION / "opa"


def find() -> Opa | None:
    """The first usable program, or None.

    Raises ``DecisionError`` (``opa.unusable``) when ``TIPSTAFF_OPA`` names none that is new enough.
    """
    if named := os.environ.get("TIPSTAFF_OPA"):
        return _named(Path(named).absolute())
    on_path = shutil.which("opa")
    for candidate in (Path(on_path).absolute() if on_path else None, managed_path()):
        version = _version(candidate) if candidate else None
        if candidate and version and _rank(version) >= _rank(MINIMUM):
            return Opa(candidate, version)
    return None


def ensure(say: Callable[[str], None], *, releases: str | None = None) -> Opa:
    """Find the program, or install the pinned version into the managed cache and tell ``say`` how it goes.

    ``releases`` replaces the base URL of the official releases. Raises ``DecisionError`` (``opa.missing``) that
    names the ways out.
    """
    if found := find():
        return found
    from tipstaff.pdp.installation import install

    target = managed_path()
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with held(target.parent / "install.lock", timeout_s=_INSTALL_TIMEOUT_S):
            found = find()
            failures = [] if found else install(target, say, releases=releases)
            found = found or find()
    except OSError as error:
        failures = [f"{target.parent}: {error.strerror or error}"]
    if found:
        return found
    raise DecisionError(
        "opa.missing",
        f"no usable OPA was found, and installing {VERSION} failed: {'; '.join(failures)}",
        fix=f"put opa >= {MINIMUM} on PATH, or set TIPSTAFF_OPA to one, or install Go and run again",
    )


def answered_version(path: Path) -> str | None:
    """What the program at the path says its version is; None when it isn't OPA or doesn't run."""
    try:
        answer = Opa(path, "").run(["version"], timeout_s=_VERSION_TIMEOUT_S)
    except DecisionError:
        return None
    line = _VERSION_LINE.search(answer.stdout) if answer.returncode == 0 else None
    return line.group(1).decode("ascii", "replace") if line else None


def _named(path: Path) -> Opa:
    version = _version(path)
    if version and _rank(version) >= _rank(MINIMUM):
        return Opa(path, version)
    raise DecisionError(
        "opa.unusable",
        f"TIPSTAFF_OPA names {f'OPA {version}' if version else 'no OPA program that runs'}; "
        f"at least {MINIMUM} is needed",
        file=str(path),
        fix=f"set TIPSTAFF_OPA to opa >= {MINIMUM}, or unset it",
    )


def _rank(version: str) -> tuple[int, int, int, bool]:
    numbers = re.match(r"(\d+)\.(\d+)\.(\d+)(.*)", version)
    if numbers is None:
        return (0, 0, 0, False)
    major, minor, patch, rest = numbers.groups()
    return (int(major), int(minor), int(patch), not rest.startswith("-"))


def _version(path: Path) -> str | None:
    """The version by what is remembered of exactly this file, else by asking it."""
    try:
        facts = path.stat()
    except OSError:
        return None
    key = f"{path}|{facts.st_dev}|{facts.st_ino}|{facts.st_mtime_ns}|{facts.st_size}"
    memory = cache_home() / "opa" / "versions.json"
    remembered = _remembered(memory)
    if key in remembered:
        return remembered[key]
    version = answered_version(path)
    if version:
        kept = {old: answer for old, answer in remembered.items() if not old.startswith(f"{path}|")}
        _remember(memory, {**kept, key: version})
    return version


def _remembered(memory: Path) -> dict[str, str]:
    try:
        value = json.loads(memory.read_bytes())
    except (OSError, ValueError):
        return {}
    pairs = value.items() if isinstance(value, dict) else ()
    return {str(key): item for key, item in pairs if isinstance(item, str)}


def _remember(memory: Path, answers: dict[str, str]) -> None:
    try:
        memory.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(memory, json.dumps(answers, indent=0, sort_keys=True).encode())
    except OSError:
        return  # a read-only cache costs one `opa version` a run, nothing else


def _failure(path: Path, why: str, fix: str = _STRANGE) -> DecisionError:
    return DecisionError("opa.failed", why, file=str(path), fix=fix)
