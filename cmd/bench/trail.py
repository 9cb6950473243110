"""The speed of proving a trail: records a second, growth, and memory."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

from ratios import Promise, compare
from scene import write_history

from tipstaff import Engine

_FEW, _MANY = 100_000, 1_000_000
_VERIFY = """
import resource, sys, time
from pathlib import Path
from tipstaff.pdp.places import witness_folder
from tipstaff.ledger.trail import Trail
with Trail(Path(sys.argv[1]), witness=witness_folder()) as trail:
    begun = time.perf_counter()
    found = trail.verify()
    spent = time.perf_counter() - begun
assert found.is_valid and found.records == int(sys.argv[2]), found
print(spent, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


def measure() -> Iterator[Promise]:
    """Every promise about the trail."""
    with tempfile.TemporaryDirectory() as folder, Engine.open(folder) as engine:
        write_history(engine, _FEW)
        path = engine.trail.path

        def verify() -> None:
            engine.trail.verify()

        def read() -> None:
            with path.open("rb") as file:
                for line in file:
                    json.loads(line)
                    sha256(line).digest()

        ratios = compare(verify, read, times=1, rounds=5)
        yield Promise("audit verify / json.loads and SHA-256 of each record", ratios, 1 / 0.75)
        small = _verified(engine.project.state, _FEW)
        write_history(engine, _MANY - _FEW)
        large = _verified(engine.project.state, _MANY)
        yield Promise("audit verify of 1,000,000 / of 100,000 records", [large[0] / small[0]], 11)
        yield Promise("its memory at 1,000,000 / at 100,000 records", [large[1] / small[1]], 1.3)


def _verified(state: Path, records: int) -> tuple[float, float]:
    """Seconds and peak memory of one verification in a process of its own."""
    line = [sys.executable, "-c", _VERIFY, str(state), str(records)]
    seconds, memory = subprocess.run(
        line, check=True, capture_output=True, text=True
    ).stdout.split()
    return float(seconds), float(memory)
