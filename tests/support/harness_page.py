"""The specification of the harness's page with its modules, in a folder, and what is done with it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from support.command_line import Result, run
from support.governed import changed
from tipstaff.project import Project
from tipstaff.surfaces.calls import Desk
from tipstaff.surfaces.principal import Principal

PROVERS = """
def proves(modification):
    return {"status": "proved"}

def prover():
    return proves

def refutes(modification):
    return {"status": "failed"}

class Prover:
    def __call__(self, modification):
        return {"status": "proved"}

instance = Prover()

def gate():
    return {"max_risk": 0.01}
"""
EXAMPLE = changed(
    before="before.json",
    after="after.json",
    prover="mypkg.wiring:prover",
    approval_store="approvals.jsonl",
    approval_key="optional-prefix",
)
STAGES = ["gate", "proof", "approval", "evidence", "promotion", "rollback"]


class Page:
    """A folder, the specification in it, and the verbs."""

    def __init__(self, root: Path) -> None:
        self.root = root
        (root / "mypkg").mkdir()
        (root / "mypkg/__init__.py").touch()
        (root / "mypkg/wiring.py").write_text(PROVERS)

    def do(self, verb: str, *arguments: str) -> Result:
        """A verb of the group."""
        return run("governed-harness", verb, *arguments, cwd=self.root)

    def put(self, name: str, value: Any) -> str:
        """A file of JSON beside the specification; its name."""
        (self.root / name).write_text(json.dumps(value))
        return name

    def receipt(self, outcome: str, **changes: Any) -> dict[str, Any]:
        """The receipt of a run, which exits 0 where it promotes, else 1."""
        return self.receipt_of(outcome, changed(**changes))

    def receipt_of(self, outcome: str, spec: Any) -> dict[str, Any]:
        """The same of this specification."""
        self.put("governed.json", spec)
        answer = self.do("run", "--spec", "governed.json", "--json")
        assert answer.code == (0 if outcome == "promote" else 1), answer.stderr
        found: dict[str, Any] = answer.json
        assert (found["outcome"], found["promoted"]) == (outcome, outcome == "promote")
        assert [stage["name"] for stage in found["stages"]] == STAGES
        return found

    def decide(self, verb: str, key: str, *more: str) -> Result:
        """Approve or reject."""
        return self.do(verb, "--store", "approvals.jsonl", "--key", key, *more, "--json")

    def pending(self) -> str:
        """The key of a request that waits."""
        found = self.receipt("defer", approval_store="approvals.jsonl")
        return str(found["approval"]["key"])

    def lines(self) -> list[bytes]:
        """The lines of the store."""
        store = self.root / "approvals.jsonl"
        return store.read_bytes().splitlines() if store.exists() else []

    def call(self, **arguments: Any) -> Any:
        """A call of the tool by an agent."""
        desk = Desk(Project.find(self.root), lambda line: None)
        return desk.call(Principal("robot@desk", "propose"), "governed_harness", arguments)
