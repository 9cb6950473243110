"""What is measured on: documents, projects, and the engines of other clients."""

from __future__ import annotations

import http.client
import io
import json
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from copy import deepcopy
from pathlib import Path
from typing import Any

from tipstaff import Engine
from tipstaff.cli import main
from tipstaff.documents.input import Actor
from tipstaff.ledger.trail import NewRecord
from tipstaff.pdp.opa import ensure
from tipstaff.pdp.sidecar import status

EXAMPLE = Path(__file__).parents[2] / "contracts" / "examples" / "change-allow.input.json"
DATA = "/v1/data/tipstaff/decision/verdict"
QUERY = f"{DATA}?provenance=true&strict-builtin-errors=true"
USERS = 100_000
_GROUP = 5_000


class UnixConnection(http.client.HTTPConnection):
    """http.client over a unix socket: the floor that a decision is held against."""

    def __init__(self, path: Path) -> None:
        super().__init__("localhost")
        self._path = path

    def connect(self) -> None:
        """Connect to the socket instead of a host."""
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.connect(str(self._path))

    def ask(self, body: bytes) -> bytes:
        """One POST to the entrypoint, the answer unread by anyone."""
        self.request("POST", QUERY, body, {"Content-Type": "application/json"})
        return self.getresponse().read()


def documents(number: int) -> list[dict[str, Any]]:
    """That many different documents without a context, all of the example's kind."""
    example = json.loads(EXAMPLE.read_text(encoding="utf-8"))
    del example["context"]
    made = []
    for index in range(number):
        document = deepcopy(example)
        document["subject"]["id"] = f"user-{index}"
        document["resource"]["files"][0]["path"] = f"skills/skill_{index}/SKILL.md"
        made.append(document)
    return made


@contextmanager
def bare(engine: Engine) -> Iterator[UnixConnection]:
    """A plain connection to the engine's own sidecar, which has answered before."""
    [running] = [item for item in status(engine.project.state) if item.is_ready]
    connection = UnixConnection(running.directory / "opa.sock")
    try:
        yield connection
    finally:
        connection.close()


@contextmanager
def same_opa(engine: Engine) -> Iterator[int]:
    """The port of an OPA that runs what the engine's sidecar runs, in the same way, for clients that need one."""
    [running] = [item for item in status(engine.project.state) if item.is_ready]
    more = ["--authorization=basic", "--config-file=config.json", "--optimize-store-for-read-speed"]
    with _opa(more, running.directory) as port:
        yield port


@contextmanager
def open_opa(engine: Engine) -> Iterator[int]:
    """The port of an OPA that runs the same bundles and lets everything in."""
    more = ["--skip-verify"]
    for bundle in engine.policy.bundles():
        more += ["--bundle", str(bundle.file)]
    with _opa(more, None) as port:
        yield port


@contextmanager
def _opa(more: list[str], folder: Path | None) -> Iterator[int]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = int(probe.getsockname()[1])
    line = [str(ensure(print).path), "run", "--server", f"--addr=127.0.0.1:{port}"]
    line += ["--log-level=error", "--skip-version-check", *more]
    process = subprocess.Popen(line, cwd=folder, stderr=subprocess.DEVNULL)
    try:
        await_health(port)
        yield port
    finally:
        process.terminate()
        process.wait()


def await_health(port: int) -> None:
    """Return as soon as the OPA at a port says that it is healthy."""
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        connection = http.client.HTTPConnection("127.0.0.1", port)
        try:
            connection.request("GET", "/health?bundles")
            if connection.getresponse().status == 200:
                return
        except OSError:
            time.sleep(0.002)
        finally:
            connection.close()
    raise TimeoutError("OPA did not become healthy")


def write_history(engine: Engine, users: int) -> None:
    """A record for each of that many users."""
    actor = Actor(id="bench@here", type="human")
    for start in range(0, users, _GROUP):
        engine.trail.append(
            *(
                NewRecord(
                    decision="proposed",
                    target=f"diff:{index:012x}",
                    detail={"user": f"user-{index}"},
                    actor=actor,
                    decision_id=f"bench-{index}",
                )
                for index in range(start, min(users, start + _GROUP))
            )
        )


def govern(folder: Path, rules: int) -> None:
    """A governed project whose overlay has one package of that many rules, each guarded by an equality."""
    subprocess.run(["git", "init", "-q", str(folder)], check=True)
    package = folder / "policy" / "org" / "many"
    package.mkdir(parents=True)
    lines = ["package org.many", ""]
    for index in range(rules):
        lines += [
            f'deny contains {{"code": "many.r{index}", "message": "m", "solution": "s"}} if {{',
            f'\tinput.subject.id == "nobody-{index}"',
            "}",
            "",
        ]
    (package / "many.rego").write_text("\n".join(lines), encoding="utf-8")
    with redirect_stdout(io.StringIO()):
        if main(["init", str(folder)]) != 0:
            raise RuntimeError("the project could not be made")
