"""`tipstaff contracts snapshot`: a live server becomes a first pin, and never touches one that is there."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from support.command_line import Result
from support.observing import SERVERS
from support.remembered import remember
from support.workshop import Workshop
from tipstaff.documents.contract import read_snapshot

RAW = str(SERVERS / "raw.py")
NAME = "weather"


def taken(workshop: Workshop, way: str, *options: str) -> Result:
    """The verb on the raw server."""
    command = ("--", sys.executable, RAW, *way.split())
    return workshop.run("contracts", "snapshot", NAME, *options, *command)


def pin(workshop: Workshop) -> Path:
    return workshop.root / "contracts" / f"{NAME}.mcpc.json"


@pytest.mark.req("C-01", "C-04", "KG-07")
def test_first_snapshot_is_a_pin_and_the_next_is_held_against_it(
    workshop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    remember(monkeypatch)
    first = taken(workshop, "plain", "--json")
    assert first.code == 0, first.stderr
    told = first.json
    assert told.keys() == {"file", "digest", "diff", "report"}
    assert told["file"] == str(pin(workshop))
    assert told["report"]["sandbox"]["isolated"] is True
    snapshot = read_snapshot(pin(workshop))
    assert (snapshot.digest, len(snapshot.tools)) == (told["digest"], 2)
    kept = pin(workshop).read_bytes()
    same = taken(workshop, "plain")
    assert (same.code, same.stdout.splitlines()[0]) == (0, "unchanged")
    value: dict[str, Any] = json.loads(kept)
    value["tools"].append({"name": "alerts", "inputSchema": {"type": "object"}})
    pin(workshop).write_text(json.dumps(value))
    committed = pin(workshop).read_bytes()
    drifted = taken(workshop, "plain", "--json")
    assert (drifted.code, drifted.json["file"]) == (1, None)
    [found] = [one for one in drifted.json["diff"]["findings"] if one["kind"] == "tool_removed"]
    assert (found["tool"], found["severity"]) == ("alerts", "error")
    assert pin(workshop).read_bytes() == committed
    accepted = workshop.run("contracts", "accept", NAME, "--digest", drifted.json["digest"])
    assert accepted.code == 0, accepted.stderr
    assert read_snapshot(pin(workshop)).digest == told["digest"]


def test_server_of_the_configuration_is_taken_by_its_name(workshop: Workshop) -> None:
    server = {"command": [sys.executable, RAW, "plain"], "environment": ["TOWN"]}
    workshop.configure(contracts={"servers": {NAME: server}})
    missing = workshop.run("contracts", "snapshot", NAME, "--json")
    assert (missing.code, missing.json["error"]["code"]) == (2, "contract.variable")
    assert missing.json["error"]["field"] == "TOWN"
    given = workshop.run("contracts", "snapshot", NAME, "--env", "PATH", "--", "true", "--json")
    assert given.code == 2
    unknown = workshop.run("contracts", "snapshot", "wether", "--json")
    assert (unknown.code, unknown.json["error"]["code"]) == (2, "contract.unknown")


def test_hidden_text_at_first_sight_fails_as_an_import_does(workshop: Workshop) -> None:
    done = taken(workshop, "hidden")
    assert done.code == 1
    assert "hidden_text" in done.stdout
    assert "\u200b" not in done.stdout
    assert pin(workshop).exists()


@pytest.mark.promise("ahead 16")
def test_what_a_server_tried_is_printed(workshop: Workshop) -> None:
    done = taken(workshop, "hostile /home/nobody 192.0.2.1 443")
    assert done.code == 0
    assert "tried    network 192.0.2.1:443 (connect, 4 times)" in done.stdout
    assert "tried    write /home/nobody/.bashrc (openat, 2 times)" in done.stdout
    assert "left     /scratch/left-behind" in done.stdout


def test_server_that_cannot_be_observed_exits_with_3_and_writes_nothing(workshop: Workshop) -> None:
    done = taken(workshop, "gone", "--json")
    assert (done.code, done.json["error"]["code"]) == (3, "contract.incomplete")
    assert "no database at /var/lib/db" in done.json["error"]["message"]
    assert done.json.keys() == {"error", "report"}
    assert done.json["report"]["sandbox"]["isolated"] is True
    assert not pin(workshop).exists()


@pytest.mark.parametrize(
    "options",
    [
        ("--url", "http://host.example/mcp"),
        ("--url", "https://host.example/mcp", "--header", "Authorization"),
        ("--url", "https://host.example/mcp", "--header", "Authorization=Bearer x"),
        ("--header", "A=B", "--", "true"),
        ("--url", "https://host.example/mcp", "--", "true"),
        ("--env", "A=B", "--", "true"),
    ],
)
def test_options_that_do_not_fit_are_a_usage_error(
    workshop: Workshop, options: tuple[str, ...]
) -> None:
    assert workshop.run("contracts", "snapshot", NAME, *options).code == 2
