"""The command line, run in this process with its streams captured."""

from __future__ import annotations

import contextlib
import io
import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tipstaff.cli import main


@dataclass(frozen=True)
class Result:
    """How one command ended and what it printed."""

    code: int
    stdout: str
    stderr: str

    @property
    def json(self) -> Any:
        """Standard output as the one JSON document that it must be."""
        return json.loads(self.stdout)


def run(*arguments: str | Path, cwd: Path | None = None, stdin: bytes = b"") -> Result:
    """Run ``tipstaff`` with the arguments, in a folder, with bytes on standard input."""
    out, err = _stream(), _stream()
    given = io.TextIOWrapper(io.BytesIO(stdin), encoding="utf-8")
    with (
        contextlib.chdir(cwd or Path.cwd()),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
        _standard_input(given),
    ):
        code = main([str(argument) for argument in arguments])
    return Result(code, _text(out), _text(err))


@contextlib.contextmanager
def _standard_input(stream: io.TextIOWrapper) -> Any:
    before, sys.stdin = sys.stdin, stream
    try:
        yield
    finally:
        sys.stdin = before


def _stream() -> io.TextIOWrapper:
    return io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True)


def _text(stream: io.TextIOWrapper) -> str:
    buffer = stream.buffer
    assert isinstance(buffer, io.BytesIO)
    return buffer.getvalue().decode()
