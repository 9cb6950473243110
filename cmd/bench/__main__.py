"""`make bench`: the speed promises as ratios, both sides measured in turns within one run.

Absolute times move with the machine; a ratio taken inside a round does not move much. Each line gives the median
ratio of the rounds, its spread, and the promise; the exit code is 1 when a promise is not kept.
"""

from __future__ import annotations

import http.client
import json
import os
import random
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import median

ROUNDS = 9
DECISIONS = 150
STARTS = 7
EXAMPLE = Path(__file__).parents[2] / "contracts" / "examples" / "change-allow.input.json"
QUERY = "/v1/data/tipstaff/decision/verdict?provenance=true&strict-builtin-errors=true"


@dataclass(frozen=True)
class Promise:
    """A measured ratio and what it must not exceed."""

    name: str
    ratios: list[float]
    limit: float

    @property
    def kept(self) -> bool:
        """Whether the median keeps the promise."""
        return median(self.ratios) <= self.limit


class UnixConnection(http.client.HTTPConnection):
    """http.client over a unix socket: the floor that a decision is held against."""

    def __init__(self, path: Path) -> None:
        super().__init__("localhost")
        self._path = path

    def connect(self) -> None:
        """Connect to the socket instead of a host."""
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.connect(str(self._path))


def decisions() -> list[Promise]:
    """A decision against a bare POST of the same body: validated and typed, and then with its durable record."""
    from tipstaff import Engine
    from tipstaff.pdp.sidecar import status

    document = json.loads(EXAMPLE.read_text())
    del document["context"]
    with tempfile.TemporaryDirectory() as folder, Engine.open(folder) as engine:
        engine.decide(document)
        [sidecar] = status(engine.project.state)
        bare = UnixConnection(sidecar.directory / "opa.sock")
        question = engine.question(document)
        body = b'{"input":' + question.body + b"}"

        def post() -> None:
            bare.request("POST", QUERY, body, {"Content-Type": "application/json"})
            bare.getresponse().read()

        judged = _rounds(lambda: engine.judge(engine.question(document)), post, DECISIONS)
        recorded = _rounds(lambda: engine.decide(document), post, DECISIONS)
        bare.close()
    return [
        Promise("one decision / bare http.client POST", judged, 1.25),
        Promise("one recorded decision / the same", recorded, 2),
    ]


def start(name: str, argv: list[str], limit: float) -> Promise:
    """A whole process against `python -c pass`."""
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": ""}

    def run(command: list[str]) -> None:
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=environment)

    bare = [sys.executable, "-c", "pass"]
    ratios = _rounds(lambda: run(argv), lambda: run(bare), STARTS)
    return Promise(name, ratios, limit)


def main() -> int:
    """Measure each promise and print the table."""
    program = str(Path(sys.executable).with_name("tipstaff"))
    promises = [
        start("tipstaff --help / python -c pass", [program, "--help"], 5),
        start("import tipstaff / python -c pass", [sys.executable, "-c", "import tipstaff"], 6),
        *decisions(),
    ]
    for promise in promises:
        low, high = min(promise.ratios), max(promise.ratios)
        verdict = "kept" if promise.kept else "BROKEN"
        print(
            f"{promise.name:40} {median(promise.ratios):5.2f}  "
            f"({low:.2f} to {high:.2f})  at most {promise.limit}  {verdict}",
            flush=True,
        )
    return 0 if all(promise.kept for promise in promises) else 1


def _rounds(ours: Callable[[], object], theirs: Callable[[], object], times: int) -> list[float]:
    for _ in range(3):
        ours()
        theirs()
    ratios = []
    for _ in range(ROUNDS):
        spent: dict[str, list[float]] = {"ours": [], "theirs": []}
        for _ in range(times):
            pair = [("ours", ours), ("theirs", theirs)]
            random.shuffle(pair)
            for name, act in pair:
                begun = time.perf_counter()
                act()
                spent[name].append(time.perf_counter() - begun)
        ratios.append(median(spent["ours"]) / median(spent["theirs"]))
    return ratios


if __name__ == "__main__":
    sys.exit(main())
