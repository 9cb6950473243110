"""A governed modification in a folder of its own: its specification, its store, and runs of it that may be killed."""

from __future__ import annotations

import json
import os
import signal
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from support.governed import changed
from tipstaff.cli import main
from tipstaff.documents.audit import AuditRecord
from tipstaff.documents.governed import Receipt
from tipstaff.documents.input import Actor
from tipstaff.engine import Engine
from tipstaff.errors import EvidenceError
from tipstaff.harness.pipeline import Pipeline
from tipstaff.harness.specification import Specification, from_object
from tipstaff.ledger.approval_file import ApprovalFile
from tipstaff.ledger.trail import Trail
from tipstaff.pdp.places import witness_folder

PERSON = Actor(id="bob@desk", type="human")
# What makes something durable: each is a point at which a run may be killed.
_DURABLE = ("write", "fsync", "replace", "link")
_NEVER = 1 << 30


class Scene:
    """A folder with a store of approvals, and one engine in this process for the runs that nobody kills."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.file = root / "governed.json"
        self.receipt = root / "receipt.json"
        self.store = ApprovalFile(root / "approvals.jsonl")
        self._engine: Engine | None = None

    def __enter__(self) -> Scene:
        self._engine = Engine.open(self.root)
        return self

    def __exit__(self, *_: object) -> None:
        self.engine.close()

    @property
    def engine(self) -> Engine:
        """The engine of this process."""
        assert self._engine is not None
        return self._engine

    def write(self, **changes: Any) -> Specification:
        """Write the specification with these changes, and its store; as it is read."""
        spec = changed(**{"approval_store": "approvals.jsonl", **changes})
        self.file.write_text(json.dumps(spec))
        return from_object(spec, self.root)

    def run(self, specification: Specification) -> Receipt:
        """A run that nobody kills; raises as ``Pipeline.run``."""
        return Pipeline(self.engine, specification).run().receipt

    def run_alone(self, specification: Specification) -> Receipt:
        """The same by an engine of its own, as another process has."""
        with Engine.open(self.root) as engine:
            return Pipeline(engine, specification).run().receipt

    def approve(self, key: str) -> None:
        """A person approves."""
        self.store.approve(key, PERSON)

    def killed_at(self, point: int, *, torn: bool = False) -> str | None:
        """Run the file in a child that is killed before its so-many-th durable act; its name, None where it ended.

        With ``torn``, half of a write arrives first.
        """
        return _killed(lambda: main(self._command()), point, torn=torn)

    def acts(self) -> int:
        """How many durable acts a run of the file takes, counted in a child that runs to its end."""
        reader, teller = os.pipe()
        pid = os.fork()
        if pid == 0:
            done = _watch(_NEVER, torn=False)
            _quietly(lambda: main(self._command()))
            os.write(teller, str(sum(done.values())).encode())
            os._exit(0)
        os.close(teller)
        os.waitpid(pid, 0)
        with os.fdopen(reader) as stream:
            return int(stream.read())

    def _command(self) -> list[str]:
        os.chdir(self.root)
        return ["governed-harness", "run", "--spec", self.file.name, "--out", self.receipt.name]

    def promoted(self) -> list[Mapping[str, Any]]:
        """The resource of each promotion, and its decision, as the trail has them.

        The trail must be sound, apart from an end that the next writer takes away.
        """
        trail = Trail(self.engine.project.state, witness=witness_folder())
        found = trail.verify().problems
        assert {one.code for one in found} <= {"trail.torn"}, found
        records = _readable(trail.records())
        return [
            {**record.detail["event"]["resource"], "decision_id": record.decision_id}
            for record in records
            if record.decision == "allow" and record.detail["event"]["kind"] == "modification"
        ]

    def events(self) -> list[dict[str, Any]]:
        """The whole lines of the store, in order."""
        return _whole_lines(self.store.path) if self.store.path.exists() else []

    def is_torn(self) -> bool:
        """Whether the last line of the store was never finished."""
        return self.store.path.exists() and not self.store.path.read_bytes().endswith(b"\n")

    def mend(self) -> None:
        """Take the torn line away, as a person would."""
        data = self.store.path.read_bytes()
        self.store.path.write_bytes(data[: data.rfind(b"\n") + 1])

    def status(self, key: str) -> str:
        """How the request with this key stands, by the lines of the store alone."""
        found = "none"
        for event in self.events():
            if event["key"] == key:
                found = event.get("status", "pending")
        return found

    def demand_earned(self) -> None:
        """Nothing was promoted without an approval of exactly it, and no id stands for two sources."""
        promoted = self.promoted()
        approved = {one["key"] for one in self.events() if one.get("status") == "approved"}
        assert {one["content_sha256"] for one in promoted} <= approved
        sources: dict[str, str] = {}
        for one in promoted:
            kept = sources.setdefault(one["modification_id"], one["source_sha256"])
            assert kept == one["source_sha256"], f"{one['modification_id']} stands for two sources"

    def demand_whole_receipt(self) -> None:
        """A receipt that is there is whole, and one that promotes has its record."""
        if self.receipt.exists():
            receipt = Receipt.model_validate_json(self.receipt.read_bytes())
            on_record = {one["decision_id"] for one in self.promoted()}
            assert not receipt.promoted or receipt.decision_id in on_record


def _readable(records: Iterator[AuditRecord]) -> Iterator[AuditRecord]:
    """Records up to an end that is torn."""
    with suppress(EvidenceError):
        yield from records


def _whole_lines(path: Path) -> list[dict[str, Any]]:
    data = path.read_bytes()
    return [json.loads(line) for line in data[: data.rfind(b"\n") + 1].splitlines()]


def _killed(act: Callable[[], object], point: int, *, torn: bool) -> str | None:
    reader, teller = os.pipe()
    pid = os.fork()
    if pid == 0:
        _watch(point, torn=torn, teller=teller)
        _quietly(act)
        os._exit(0)
    os.close(teller)
    _, status = os.waitpid(pid, 0)
    with os.fdopen(reader) as stream:
        told = stream.read()
    assert os.waitstatus_to_exitcode(status) in (0, -signal.SIGKILL)
    return told or None


def _watch(point: int, *, torn: bool, teller: int | None = None) -> Counter[str]:
    """Count the durable acts of this process from now on, and kill it before the one with this number."""
    done: Counter[str] = Counter()

    def wrap(name: str) -> None:
        real = getattr(os, name)

        def act(*arguments: Any, **named: Any) -> Any:
            if sum(done.values()) == point:
                if torn and name == "write":
                    real(arguments[0], arguments[1][: len(arguments[1]) // 2])
                if teller is not None:
                    posix_write(teller, name.encode())
                os.kill(os.getpid(), signal.SIGKILL)
            done[name] += 1
            return real(*arguments, **named)

        setattr(os, name, act)

    posix_write = os.write
    for name in _DURABLE:
        wrap(name)
    return done


def _quietly(act: Callable[[], object]) -> None:
    nothing = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, 1)
    os.dup2(nothing, 2)
    try:
        act()
    except BaseException:
        os._exit(70)
