"""A specification of the governed harness, provers that behave in every way, and a folder to run them in."""

from __future__ import annotations

import json
from collections.abc import Mapping
from copy import deepcopy
from pathlib import Path
from typing import Any

from support.command_line import Result, run
from support.schemas import demand

SPEC: dict[str, Any] = {
    "artifact_id": "harness-1",
    "modification": {
        "modification_id": "m1",
        "source": "def f(x):\n    return x + 1\n",
        "target": "harness/f.py",
        "requested_capabilities": [],
        "risk": 0.05,
    },
    "before": {"parse": 0.8, "plan": 0.7},
    "after": {"parse": 0.82, "plan": 0.72},
    "gate": {"max_risk": 0.5, "canary_risk": 0.2},
    "rules": {"min_effect": 0.01},
    "contaminated": False,
    "risk": 0.05,
    "rollback_current": {"harness/f.py": "new"},
    "rollback_previous": {"harness/f.py": "old"},
}
PROVERS = """
import os, sys, time

def proves(modification):
    assert modification["target"] == "harness/f.py" and "return" in modification["source"]
    return {"status": "proved", "detail": "by looking"}

def builds():
    return proves

def refutes(modification):
    return {"status": "failed", "detail": "it adds one"}

def wonders(modification):
    return {"status": "unknown"}

def breaks(modification):
    raise ValueError("broken")

def hangs(modification):
    time.sleep(600)

def forks(modification):
    os.fork()
    return {"status": "proved"}

def starts(modification):
    if os.fork() == 0:
        os._exit(0)
    time.sleep(0.3)
    return {"status": "proved"}

def leaves(modification):
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            time.sleep(600)
        os._exit(0)
    os.wait()
    return {"status": "proved"}

def prints(modification):
    print('{"status": "proved"}')
    os._exit(0)

def ends(modification):
    sys.exit(0)

def answers_first(modification):
    with open("/scratch/answer.json", "w") as file:
        file.write('{"status": "proved"}')
    return {"status": "proved"}

def says_more(modification):
    return {"status": "proved", "promoted": True}

def says_nothing(modification):
    return None

nothing = 5
"""


def changed(**changes: Any) -> dict[str, Any]:
    """The specification with members changed; ``modification__x`` is one of the modification, ``...`` takes it away."""
    spec = deepcopy(SPEC)
    for name, value in changes.items():
        inside = name.removeprefix("modification__")
        place = spec["modification"] if inside != name else spec
        if value is ...:
            place.pop(inside, None)
        else:
            place[inside] = value
    return spec


class Bench:
    """A folder outside any project, with a specification in it."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.spec = root / "governed.json"

    def write(self, **changes: Any) -> None:
        """Write the specification with these changes."""
        self.spec.write_text(json.dumps(changed(**changes)))

    def do(self, *arguments: str) -> Result:
        """Run a verb of the harness."""
        return run("governed-harness", *arguments, cwd=self.root)

    def receipt(self, code: int, **changes: Any) -> dict[str, Any]:
        """The receipt of a run of the specification with these changes, which must exit so."""
        self.write(**changes)
        answer = self.do("run", "--spec", "governed.json", "--json")
        assert answer.code == code, answer.stdout + answer.stderr
        receipt: dict[str, Any] = answer.json
        demand("receipt", receipt)
        return receipt

    def files(self) -> Mapping[str, bytes]:
        """Every file outside the state folder, with its content."""
        return {
            str(path.relative_to(self.root)): path.read_bytes()
            for path in self.root.rglob("*")
            if path.is_file() and ".tipstaff" not in path.parts
        }
