"""The speed of whole processes: start, help, one decision, and the sidecar's own start."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from ratios import Promise, compare
from scene import USERS, documents, open_opa, write_history

from tipstaff import Engine, declared
from tipstaff.pdp.opa import ensure
from tipstaff.pdp.sidecar import stop

_STARTS = 7
PROGRAM = str(Path(sys.executable).with_name("tipstaff"))


def measure() -> Iterator[Promise]:
    """Every promise about processes."""
    bare = [sys.executable, "-c", "pass"]
    yield process("tipstaff --help / python -c pass", [PROGRAM, "--help"], bare, 5)
    package = [sys.executable, "-c", "import tipstaff"]
    yield process("import tipstaff / python -c pass", package, bare, 6)
    with tempfile.TemporaryDirectory() as folder:
        yield from _one_shot(Path(folder))
    with tempfile.TemporaryDirectory() as folder:
        yield _sidecar_start(Path(folder))


def _one_shot(folder: Path) -> Iterator[Promise]:
    document = documents(1)[0]
    with Engine.open(folder) as engine:
        engine.decide(document)
        given, asked = folder / "given.json", folder / "asked.json"
        given.write_text(json.dumps(document))
        asked.write_text(json.dumps(engine.question(document).document))
        for users, limit in ((10, 8), (USERS, 0.5)):
            write_history(engine, users)
            file = folder / "users.json"
            file.write_text(json.dumps({"users": {f"user-{n}": _profile(n) for n in range(users)}}))
            ours = [PROGRAM, "decide", str(given), "--json"]
            theirs = [str(ensure(print).path), "eval", "--format", "raw", "--input", str(asked)]
            theirs += ["--data", str(declared.folder("policy")), "--data", str(file)]
            theirs += ["data.tipstaff.decision.verdict"]
            name = f"tipstaff decide / opa eval, {users:,} users"
            yield process(name, ours, theirs, limit, folder)


def _profile(number: int) -> dict[str, object]:
    """What a policy would hold of one user: about a hundred bytes."""
    return {
        "tier": "observer",
        "since": "2026-01-01T00:00:00Z",
        "approved": number,
        "spent": number * 7,
    }


def _sidecar_start(folder: Path) -> Promise:
    document = documents(1)[0]
    with Engine.open(folder) as engine:
        engine.decide(document)

        def start() -> None:
            stop(engine.project.state)
            with Engine.open(folder) as fresh:
                fresh.decide(document)

        def start_opa() -> None:
            with open_opa(engine):
                pass

        ratios = compare(start, start_opa, times=3)
        stop(engine.project.state)
    return Promise("sidecar to first verdict / opa run to healthy", ratios, 3)


def process(
    name: str, ours: list[str], theirs: list[str], limit: float, folder: Path | None = None
) -> Promise:
    """The ratio of two command lines, each started anew in ``folder``; raises ``RuntimeError`` where one fails."""
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": ""}

    def run(command: list[str]) -> None:
        done = subprocess.run(
            command,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            env=environment,
            cwd=folder,
            check=False,
        )
        if done.returncode not in (0, 1):
            raise RuntimeError(done.stderr.decode())

    return Promise(name, compare(lambda: run(ours), lambda: run(theirs), times=_STARTS), limit)
