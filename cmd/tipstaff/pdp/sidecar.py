"""The sidecar: one OPA on a unix socket, shared by the runs of one user that want the same program and bundles.

It is named by a digest of what it runs, so other bundles mean another sidecar and nothing is ever swapped under a
running one. It works from private copies of the bundles, verified before they are written. It runs with an empty
environment and, where the kernel permits, with no network; ``status`` says which of that holds.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tipstaff.documents.text import visible
from tipstaff.errors import DecisionError
from tipstaff.files import is_locked, write_atomically
from tipstaff.pdp import keeper
from tipstaff.pdp.bundle import Bundle, check
from tipstaff.pdp.client import Client
from tipstaff.pdp.opa import Opa
from tipstaff.pdp.places import check_closed, closed_folder, held
from tipstaff.pdp.plan import SOCKET, Plan, draw
from tipstaff.pdp.transport import UnixTransport

IDLE_S = 900.0
_LOOK_S = 0.01
_STOP_S = 5.0
_SHOWN = 2000


@dataclass(frozen=True)
class Sidecar:
    """A running OPA that answered for these bundles: its socket, its folder, its process id."""

    socket: Path
    directory: Path
    pid: int
    bundles: tuple[Bundle, ...]
    opa: Opa

    def client(self, *, deadline_s: float) -> Client:
        """A client that accepts answers of exactly these bundles."""
        return _client(self.directory, self.bundles, deadline_s)


@dataclass(frozen=True)
class SidecarStatus:
    """What is known of one sidecar. ``network`` is ``own`` (an empty one), ``host``, or ``unknown``.

    It ends by itself ``ends_in_s`` seconds from now, unless somebody asks it something before.
    """

    directory: Path
    is_ready: bool
    pid: int
    network: str
    opa_version: str
    revisions: dict[str, str]
    ends_in_s: float


def join(
    state: Path,
    opa: Opa,
    bundles: Sequence[Bundle],
    *,
    deadline_s: float = 10.0,
    idle_s: float = IDLE_S,
) -> Sidecar:
    """Join the sidecar that runs this OPA with these bundles, or start it; ready means that it has answered.

    ``idle_s`` is after how many unused seconds a sidecar started here ends. Raises ``DecisionError``:
    ``engine.not_ready`` with OPA's own words, ``bundle.signature``, ``folder.exposed``,
    ``lock.timeout``.
    """
    deadline = time.monotonic() + deadline_s
    plan = draw(opa, bundles)
    try:
        home = closed_folder(closed_folder(state) / "sidecar")
        folder = home / plan.identity
        pid = _touch(folder)
        if pid is None:
            with held(home / "lock", timeout_s=deadline_s):
                pid = _touch(folder) or _start(folder, plan, deadline, idle_s)
    except OSError as error:
        raise DecisionError(
            "engine.not_ready",
            f"the sidecar's folder can't be used: {error}",
            file=str(state),
            fix="make the state folder writable, or set TIPSTAFF_STATE_DIR to one that is",
        ) from error
    return Sidecar(folder / SOCKET, folder, pid, plan.bundles, opa)


def status(state: Path) -> list[SidecarStatus]:
    """Every sidecar of this state folder that runs now."""
    return [_status(folder) for folder in _folders(state) if is_locked(folder / "alive")]


def stop(state: Path) -> int:
    """Stop every sidecar of this state folder and remove what it left; returns how many were running."""
    home = state / "sidecar"
    if not home.is_dir():
        return 0
    with held(home / "lock", timeout_s=2 * _STOP_S):
        return sum(_end(folder) for folder in _folders(state))


def _touch(folder: Path) -> int | None:
    """Note the use of a ready sidecar and return OPA's process id; None when there is no such sidecar.

    The order matters: whoever sees the mark after touching ``used`` is seen by a keeper about to retire.
    """
    try:
        check_closed(folder)
        now = time.time_ns()
        os.utime(folder / "used", ns=(now, now))
        if not (folder / "ready").exists() or not is_locked(folder / "alive"):
            return None
        return int(_facts(folder)["opa"])
    except (FileNotFoundError, KeyError):
        return None


def _start(folder: Path, plan: Plan, deadline: float, idle_s: float) -> int:
    """Start the sidecar in a fresh folder and wait until it answers; the caller holds the lock."""
    for other in _folders(folder.parents[1]):
        if other == folder or not is_locked(other / "alive"):
            _end(other)
    closed_folder(folder)
    for bundle, data in zip(plan.bundles, plan.contents, strict=True):
        check(bundle, data)
        write_atomically(folder / f"{bundle.name}.tar.gz", data)
    revisions = {bundle.name: bundle.revision for bundle in plan.bundles}
    spec = {"argv": plan.argv, "idle_s": idle_s, "opa": plan.opa.version, "revisions": revisions}
    write_atomically(folder / "config.json", json.dumps(plan.config).encode())
    write_atomically(folder / "spec.json", json.dumps(spec).encode())
    (folder / "used").touch(mode=0o600)
    _launch(folder)
    try:
        _await(folder, plan.bundles, deadline)
    except DecisionError as error:
        said = _log(folder)
        _end(folder)
        raise DecisionError(
            "engine.not_ready",
            f"the sidecar did not become ready: {error.message} ({error.code})"
            + (f"; OPA said: {said}" if said else ""),
            file=str(folder),
            fix="run `tipstaff doctor`; check the policy bundles and the OPA program",
        ) from error
    (folder / "ready").touch(mode=0o600)
    return int(_facts(folder)["opa"])


def _launch(folder: Path) -> None:
    """Run the keeper; it holds ``alive`` when this returns. Of our environment it gets only the loader's path."""
    kept = {key: os.environ[key] for key in ("LD_LIBRARY_PATH",) if key in os.environ}
    script = str(Path(keeper.__file__).absolute())
    with (folder / "keeper.log").open("wb") as log:
        subprocess.run(
            [sys.executable, "-I", "-S", script, str(folder.absolute())],
            cwd="/",
            env=kept,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
            check=False,
        )


def _await(folder: Path, bundles: tuple[Bundle, ...], deadline: float) -> None:
    """Ask until the sidecar answers for exactly these bundles; raises the last refusal that says why."""
    why: DecisionError | None = None
    while True:
        left = max(0.0, deadline - time.monotonic())
        try:
            with _client(folder, bundles, left) as client:
                return client.check()
        except DecisionError as error:
            # When the time is up, that is all that the last question hears.
            why = error if why is None or error.code != "engine.timeout" else why
            if time.monotonic() > deadline or not is_locked(folder / "alive"):
                raise why from None
        time.sleep(_LOOK_S)


def _client(folder: Path, bundles: Sequence[Bundle], deadline_s: float) -> Client:
    revisions = {bundle.name: bundle.revision for bundle in bundles}
    transport = UnixTransport(folder / SOCKET, used=folder / "used")
    return Client(transport, revisions=revisions, deadline_s=deadline_s)


def _end(folder: Path) -> bool:
    """Stop the sidecar if it runs, then remove its folder; whether it ran."""
    was_alive = is_locked(folder / "alive")
    deadline = time.monotonic() + _STOP_S
    while is_locked(folder / "alive"):
        try:
            os.kill(int(_facts(folder)["keeper"]), signal.SIGTERM)
        except (FileNotFoundError, KeyError, ProcessLookupError):
            pass  # it has not written its process id yet, or ended just now
        if time.monotonic() > deadline:
            raise DecisionError(
                "engine.not_ready",
                f"a sidecar did not stop within {_STOP_S:g} s",
                file=str(folder),
                fix="end the keeper process that the folder's sidecar.json names",
            )
        time.sleep(_LOOK_S)
    shutil.rmtree(folder)
    return was_alive


def _folders(state: Path) -> Iterator[Path]:
    home = state / "sidecar"
    if home.is_dir():
        yield from (path for path in sorted(home.iterdir()) if path.is_dir())


def _status(folder: Path) -> SidecarStatus:
    facts, spec = _facts(folder), _facts(folder, "spec.json")
    try:
        used = (folder / "used").stat().st_mtime
    except OSError:
        used = time.time()
    return SidecarStatus(
        directory=folder,
        is_ready=(folder / "ready").exists(),
        pid=int(facts.get("opa", 0)),
        network=str(facts.get("network", "unknown")),
        opa_version=str(spec.get("opa", "")),
        revisions=dict(spec.get("revisions", {})),
        ends_in_s=max(0.0, used + float(spec.get("idle_s", 0.0)) - time.time()),
    )


def _facts(folder: Path, name: str = "sidecar.json") -> dict[str, Any]:
    try:
        value = json.loads((folder / name).read_bytes())
    except (OSError, ValueError):
        return {}
    return value if isinstance(value, dict) else {}


def _log(folder: Path) -> str:
    parts = []
    for name in ("opa.log", "keeper.log"):
        try:
            parts.append((folder / name).read_bytes()[-_SHOWN:].decode(errors="replace").strip())
        except OSError:
            continue
    return visible(" ".join(filter(None, parts)), limit=_SHOWN)
