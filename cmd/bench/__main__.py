"""`make bench`: the speed promises as ratios, both sides measured in turns within one run.

``python cmd/bench [PART …]`` measures only those parts. Each line gives the median ratio of the rounds, its spread,
and the promise; the exit code is 1 when a promise is not kept.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import approvals
import decisions
import programs
import trail

import contracts
import harness
import sandbox

PARTS = {
    "programs": programs.measure,
    "decisions": decisions.measure,
    "contracts": contracts.measure,
    "sandbox": sandbox.measure,
    "harness": harness.measure,
    "trail": trail.measure,
    "approvals": approvals.measure,
}


def main(wanted: list[str]) -> int:
    """Measure each promise of the parts and print the table."""
    unknown = set(wanted) - PARTS.keys()
    if unknown:
        print(
            f"no such part: {', '.join(sorted(unknown))}; there are {', '.join(PARTS)}",
            file=sys.stderr,
        )
        return 2
    broken = 0
    print(f"load {os.getloadavg()[0]:.2f} on {os.cpu_count()} cores", flush=True)
    with tempfile.TemporaryDirectory() as home:
        os.environ["XDG_STATE_HOME"] = home  # checkpoints of what is measured end with it
        for part in wanted or PARTS:
            for promise in PARTS[part]():
                print(promise, flush=True)
                broken += not promise.is_kept
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
