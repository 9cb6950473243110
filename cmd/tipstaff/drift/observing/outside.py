"""A server at a URL, asked by the driver in a process of its own: bounded in time and memory, with no file of ours."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import tipstaff
from tipstaff import declared
from tipstaff.documents.text import visible
from tipstaff.drift.observing import limits, variables
from tipstaff.drift.observing.inside import INDEX_BYTES, call_fact, heard
from tipstaff.drift.observing.reading import Heard
from tipstaff.drift.observing.target import Call, Target
from tipstaff.errors import UnobservedError
from tipstaff.sandbox.collection import MAX_FILE_BYTES
from tipstaff.sandbox.folder import temporary_folder

# What a proxy or an authority of the user's own is named by.
_PASSED = ("HTTPS_PROXY", "HTTP_PROXY", "NO_PROXY", "SSL_CERT_FILE", "SSL_CERT_DIR")
_SESSIONS = 3
_TAIL = 400


def observe_url(target: Target, calls: Sequence[Call]) -> Heard:
    """Ask the server; raises ``UnobservedError`` where the driver left nothing, ``ContractError`` for a variable."""
    found = limits.load()
    told = limits.as_job(found)
    job = {
        "url": target.url,
        "headers": variables.headers(target.headers),
        "client_capabilities": list(target.client_capabilities),
        "calls": [call_fact(call) for call in calls],
        "limits": told,
        "run": found.run.model_dump(),
    }
    folder = declared.folder("sandbox") / limits.FOLDER
    package = Path(tipstaff.__file__).parent.parent
    with temporary_folder() as private:
        out = private / "observed"
        complaint = _run(
            [sys.executable, "-I", "-B", str(folder / "web.py"), str(out), str(package)],
            json.dumps(job).encode(),
            told["session"]["whole_s"] * _SESSIONS,
        )
        index = _read(out / "index.json", INDEX_BYTES)
        if index is None:
            raise UnobservedError(
                "contract.unreachable", complaint, fix="see whether the address answers at all"
            )
        return heard(index, lambda name: _read(out / name, MAX_FILE_BYTES), None)


def _run(argv: Sequence[str], job: bytes, seconds: float) -> str:
    """Run the driver to its end; what it said, should it have left nothing."""
    passed = [name for each in _PASSED for name in (each, each.lower()) if name in os.environ]
    try:
        done = subprocess.run(
            argv,
            input=job,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            env={name: os.environ[name] for name in passed},
            cwd="/",
            timeout=seconds,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return f"no observation within {seconds:.0f} s"
    said = visible(" ".join(done.stderr.decode("utf-8", "replace").split())[-_TAIL:])
    return f"the driver ended with {done.returncode}: {said or 'no output'}"


def _read(path: Path, most: int) -> bytes | None:
    try:
        with path.open("rb") as file:
            data = file.read(most + 1)
    except OSError:
        return None
    return data if len(data) <= most else None
