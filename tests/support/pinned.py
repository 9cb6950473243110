"""A project with a live server of our own and its committed snapshot, which tests change and check."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from support.command_line import Result
from support.observing import QUICK, SERVERS
from support.remembered import forget, remember
from support.workshop import Workshop
from tipstaff.documents.contract import Snapshot, altered, read_snapshot, text

TIME = "2026-01-01T00:00:00Z"

FORECAST = {
    "name": "get_forecast",
    "description": "Forecast for a place.",
    "inputSchema": {"type": "object", "properties": {"place": {"type": "string"}}},
    "annotations": {"readOnlyHint": True},
}
STATIONS = {
    "name": "list_stations",
    "description": "All stations.",
    "inputSchema": {"type": "object"},
}
DELETE = {
    "name": "delete_station",
    "description": "Delete one station.",
    "inputSchema": {"type": "object"},
    "annotations": {"readOnlyHint": True},
}

_TAKEN: dict[str, str] = {}


@dataclass
class Pinned:
    """The commands in the project; ``says`` is what the server ``weather`` tells from now on."""

    workshop: Workshop
    patch: pytest.MonkeyPatch
    says: dict[str, Any] = field(default_factory=dict)
    anew: bool = False

    @classmethod
    def laid(
        cls, workshop: Workshop, patch: pytest.MonkeyPatch, *, name: str = "weather"
    ) -> Pinned:
        """Configure the server, started once for each thing it tells; nothing is committed yet."""
        found = cls(workshop, patch)
        remember(patch)
        workshop.configure(
            sandbox={"backends": [QUICK]}, contracts={"servers": {name: found.server()}}
        )
        found.tell(tools=[FORECAST, STATIONS], answers={"get_forecast": {"sky": "clear"}})
        return found

    @staticmethod
    def server(variable: str = "SERVER_SAYS") -> dict[str, Any]:
        """The configuration of such a server."""
        return {
            "command": [sys.executable, str(SERVERS / "told.py")],
            "environment": [variable],
        }

    def tell(self, **members: Any) -> None:
        """Let the server list or answer something else."""
        self.says |= members
        self.patch.setenv("SERVER_SAYS", json.dumps(self.says))

    def run(self, *arguments: str) -> Result:
        """`tipstaff contracts …`; with ``anew`` on a server that is started for it."""
        if self.anew:
            forget()
        return self.workshop.run("contracts", *arguments)

    @property
    def pin(self) -> Path:
        """The committed snapshot's file."""
        return self.workshop.root / "contracts" / "weather.mcpc.json"

    def commit(self, **members: Any) -> Snapshot:
        """Take the server's first snapshot, perhaps with other members than it has.

        What a server tells is observed once in each process; after that its snapshot is written from memory.
        """
        told = json.dumps(self.says)
        if told not in _TAKEN:
            taken = self.run("snapshot", "weather", "--json")
            assert taken.code == 0, (taken.stdout, taken.stderr)
            _TAKEN[told] = self.pin.read_text()
        self.pin.parent.mkdir(exist_ok=True)
        self.pin.write_text(_TAKEN[told])
        if members:
            self.pin.write_text(text(altered(read_snapshot(self.pin), **members)))
        return read_snapshot(self.pin)

    def commit_beside(self, name: str, **members: Any) -> None:
        """Write a snapshot of another server: the committed one with these members."""
        other = altered(read_snapshot(self.pin), server_id=name, **members)
        (self.pin.parent / f"{name}.mcpc.json").write_text(text(other))

    def check(self, *options: str) -> tuple[int, dict[str, Any]]:
        """The exit code of a check of everything, and the first server of its answer."""
        done = self.run("check", "--json", *options)
        return done.code, done.json["servers"][0]

    def candidates(self) -> list[str]:
        """The digests that are kept for acceptance."""
        folder = self.workshop.state / "contracts" / "weather"
        return sorted(path.name.split(".")[0] for path in folder.glob("*.mcpc.json"))
