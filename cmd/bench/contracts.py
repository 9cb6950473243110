"""The speed of holding two contracts against each other, beside reading their files as JSON."""

from __future__ import annotations

import json
import random
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from ratios import Promise, compare, elapsed
from scene import govern

from tipstaff import Engine
from tipstaff.cli.contracts import observing
from tipstaff.documents.contract import Snapshot, snapshot, text
from tipstaff.drift.diff import diff
from tipstaff.drift.observing.target import Call, Observation, Target
from tipstaff.healing.contracts import Wanted
from tipstaff.healing.pins.checking import check

_FEW, _MANY = 1000, 10_000
_CHANGED = 0.05
_PARAMETERS = 6
_SERVER = Path(__file__).parents[2] / "tests" / "support" / "servers" / "raw.py"
_NAMES = ["one", "other", "third"]


def measure() -> Iterator[Promise]:
    """Every promise about contracts."""
    few = _contracts(_FEW, _CHANGED)
    yield Promise("diff of 1,000 tools, 5 % changed / json.loads of both", _ratios(few), 6)
    same = _contracts(_FEW, 0)
    yield Promise("the same with nothing changed / json.loads of both", _ratios(same), 2)
    turned = (same[0], _turned(same[1]))
    yield Promise("nothing but the order of keys changed / json.loads of both", _ratios(turned), 3)
    many = _contracts(_MANY, _CHANGED)
    grown = [elapsed(_diffing(many)) / elapsed(_diffing(few)) for _ in range(5)]
    yield Promise("diff of 10,000 tools / of 1,000", grown, 12)
    yield Promise("contracts check of three local servers / of one", _side_by_side(), 2.5)


def _side_by_side() -> list[float]:
    """How much longer three servers take than one; a processor each, and it would be 1."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        govern(folder, 1)
        command = json.dumps([sys.executable, str(_SERVER), "plain"])
        servers = "".join(f"    {name}: {{command: {command}}}\n" for name in _NAMES)
        with (folder / "tipstaff.yaml").open("a", encoding="utf-8") as file:
            file.write(f"contracts:\n  servers:\n{servers}")
        with Engine.open(str(folder)) as engine:

            def observe(target: Target, calls: Sequence[Call]) -> Observation:
                return observing.observe(engine.project, target, calls)

            def checking(names: Sequence[str]) -> Callable[[], object]:
                return lambda: check(engine, names, Wanted("error"), observe)

            return compare(checking(_NAMES), checking(_NAMES[:1]), times=1, rounds=5)


def _ratios(pair: tuple[Snapshot, Snapshot]) -> list[float]:
    files = [text(side) for side in pair]
    return compare(_diffing(pair), lambda: [json.loads(file) for file in files], times=3)


def _diffing(pair: tuple[Snapshot, Snapshot]) -> Any:
    """What compares two parsed snapshots that nobody has digested yet."""

    def run() -> None:
        old, new = (Snapshot.model_construct(**dict(side)) for side in pair)
        diff(old, new)

    return run


def _contracts(count: int, share: float) -> tuple[Snapshot, Snapshot]:
    """Two snapshots that share no object, the second with some tools changed, in another order."""
    chance = random.Random(7)  # noqa: S311 (the same contracts in each run)
    tools = [_tool(place) for place in range(count)]
    later = json.loads(json.dumps(tools))
    for tool in chance.sample(later, int(count * share)):
        tool["description"] += " Ask first."
        tool["inputSchema"]["properties"]["p1"]["type"] = "boolean"
    chance.shuffle(later)
    return _snapshot(tools), _snapshot(later)


def _turned(side: Snapshot) -> Snapshot:
    """The same contract with the keys of each object the other way round, as another reader hands them over."""

    def turned(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: turned(value[key]) for key in reversed(value)}
        return [turned(item) for item in value] if isinstance(value, list) else value

    return _snapshot(turned(side.tools))


def _snapshot(tools: list[Any]) -> Snapshot:
    plain = {"schema_version": 2, "server_id": "bench", "captured_at": "2026-01-01T00:00:00Z"}
    return snapshot({**plain, "tools": tools})


def _tool(place: int) -> dict[str, Any]:
    parameters = {
        f"p{number}": {
            "type": "string" if number % 2 else "integer",
            "description": f"Parameter {number} of the tool {place}, in the usual unit.",
        }
        for number in range(_PARAMETERS)
    }
    schema = {"type": "object", "properties": parameters, "required": ["p0"]}
    words = f"Does what the tool of the number {place} is there for, and says so at length."
    return {"name": f"tool_{place}", "description": words, "inputSchema": schema}
