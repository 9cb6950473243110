"""Runs ``tipstaff`` in processes of its own that can be killed at any moment.

One warm process forks for each run, so that a run costs no start of the interpreter and every moment of a run is a
moment of its work.
"""

from __future__ import annotations

import importlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Ended:
    """How a run ended: its exit code, minus the signal that killed it, and how long it took in seconds."""

    code: int
    stdout: str
    stderr: str
    took: float

    @property
    def json(self) -> Any:
        """Standard output as JSON."""
        return json.loads(self.stdout)


class Nursery:
    """Starts runs of ``tipstaff`` in one folder."""

    def __init__(self, process: subprocess.Popen[str], folder: Path) -> None:
        self._process = process
        self._folder = folder

    def run(self, *arguments: str, stdin: bytes = b"", kill_after: float | None = None) -> Ended:
        """One run; with ``kill_after`` it is killed so many seconds after it began, if it still runs."""
        return self.run_all([list(arguments)], stdin=stdin, kill_after=kill_after)[0]

    def run_all(
        self,
        calls: Sequence[Sequence[str]],
        *,
        stdin: bytes = b"",
        kill_after: float | None = None,
    ) -> list[Ended]:
        """Runs that all start at once, and how each ended."""
        (self._folder / "stdin").write_bytes(stdin)
        order = {"calls": [list(call) for call in calls], "kill_after": kill_after}
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(order) + "\n")
        self._process.stdin.flush()
        ends = json.loads(self._process.stdout.readline())
        return [
            Ended(
                code,
                (self._folder / f"{place}.out").read_text(),
                (self._folder / f"{place}.err").read_text(),
                took,
            )
            for place, (code, took) in enumerate(ends)
        ]


@contextmanager
def a_nursery(root: Path, folder: Path) -> Iterator[Nursery]:
    """A nursery whose runs work in ``root``; ``folder`` holds what they print."""
    folder.mkdir()
    with subprocess.Popen(
        [sys.executable, str(Path(__file__)), str(folder)],
        cwd=root,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            yield Nursery(process, folder)
        finally:
            assert process.stdin is not None
            process.stdin.close()
            process.wait()


def _serve(folder: Path) -> None:
    _warm_up()
    for line in sys.stdin:
        order = json.loads(line)
        began = time.monotonic()
        gate, opener = os.pipe()
        pids = []
        for place, call in enumerate(order["calls"]):
            pid = os.fork()
            if pid == 0:
                os.close(opener)
                os.read(gate, 1)
                _child(folder, place, call, order["kill_after"])
            pids.append(pid)
        os.close(gate)
        os.close(opener)
        ends = []
        for pid in pids:
            _, status = os.waitpid(pid, 0)
            ends.append((os.waitstatus_to_exitcode(status), time.monotonic() - began))
        print(json.dumps(ends), flush=True)


def _warm_up() -> None:
    """Import once what every run would import."""
    for name in ("tipstaff.cli", "tipstaff.engine", "tipstaff.healing.approval"):
        importlib.import_module(name)


def _child(folder: Path, place: int, call: list[str], kill_after: float | None) -> None:
    from tipstaff.cli import main

    for number, name, flags in (
        (0, "stdin", os.O_RDONLY),
        (1, f"{place}.out", os.O_WRONLY | os.O_CREAT | os.O_TRUNC),
        (2, f"{place}.err", os.O_WRONLY | os.O_CREAT | os.O_TRUNC),
    ):
        os.dup2(os.open(folder / name, flags, 0o600), number)
    sys.stdin = open(0, encoding="utf-8", closefd=False)
    sys.stdout = open(1, "w", encoding="utf-8", closefd=False)
    sys.stderr = open(2, "w", encoding="utf-8", closefd=False)
    if kill_after is not None:
        killer = threading.Timer(kill_after, os.kill, (os.getpid(), signal.SIGKILL))
        killer.daemon = True
        killer.start()
    code = main(call)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


if __name__ == "__main__":
    _serve(Path(sys.argv[1]))
