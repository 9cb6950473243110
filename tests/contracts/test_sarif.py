"""SARIF logs: valid by the published schema, and with all that a viewer needs to show a finding and know it again."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from support.command_line import Result
from support.contracts import FORECAST, STATIONS, capture, edited, properties, taken
from support.sarif import demand_valid
from support.workshop import Workshop
from tipstaff.documents.contract import text

Edit = Callable[[dict[str, Any]], object]


def everything(value: dict[str, Any]) -> None:
    """Changes of many kinds, with text that is hard to carry."""
    properties(value)["days"].update(type="string", default=7)
    properties(value)["new one"] = {
        "type": "string",
        "description": 'Quotes " and \u202e, <b> → %20.',
    }
    value["tools"][0]["annotations"] = {"readOnlyHint": False}
    value["tools"].append({"name": "wipe", "inputSchema": {"type": "object"}})
    value["tools"][1]["name"] = "lіst_stations"  # noqa: RUF001 (a Cyrillic letter)
    value.update(
        instructions="Be quick.", prompts=[{"name": "p"}], resources=[{"uri": "a:b", "name": "r"}]
    )


class Pair:
    """A project with a committed snapshot and a newer one."""

    def __init__(self, workshop: Workshop) -> None:
        self._run = workshop.run
        self.folder = workshop.root / "contracts"
        self.folder.mkdir(exist_ok=True)
        self.write("old", capture())

    def write(self, name: str, value: Any) -> Path:
        """A snapshot's file in the project."""
        path = self.folder / f"{name}.mcpc.json"
        path.write_text(text(taken(value)))
        return path

    def log(self, edit: Edit) -> Any:
        """The log of what an edit changed."""
        self.write("new", edited(edit))
        files = [f"contracts/{name}.mcpc.json" for name in ("old", "new")]
        done: Result = self._run("contracts", "diff", *files, "--sarif")
        return done.json

    def lines(self, log: Any) -> dict[str, list[str]]:
        """The line of the newer file at which each kind of finding stands."""
        written = (self.folder / "new.mcpc.json").read_text().splitlines()
        found: dict[str, list[str]] = {}
        for one in log["runs"][0]["results"]:
            place = one["locations"][0]["physicalLocation"]
            assert place["artifactLocation"]["uri"] == "contracts/new.mcpc.json"
            line = written[place["region"]["startLine"] - 1].strip()
            found.setdefault(one["ruleId"].partition(".")[2], []).append(line)
        return found


@pytest.fixture
def pair(workshop: Workshop) -> Pair:
    """Two snapshots in a project."""
    return Pair(workshop)


@pytest.mark.usefixtures("published")
@pytest.mark.parametrize("edit", [everything, lambda c: None, lambda c: c["tools"].pop()])
def test_log_of_a_difference_is_valid_by_the_published_schema(pair: Pair, edit: Edit) -> None:
    demand_valid(pair.log(edit))


@pytest.mark.usefixtures("published")
def test_log_of_a_policy_check_is_valid_by_the_published_schema(workshop: Workshop) -> None:
    rule = workshop.root / "policy/org/freeze/freeze.rego"
    rule.write_text(rule.read_text().replace("\tinput.kind", "    input.kind"))
    done = workshop.run("policy", "check", "--sarif")
    assert done.json["runs"][0]["results"]
    demand_valid(done.json)


@pytest.mark.usefixtures("published")
@pytest.mark.parametrize(
    "fault",
    [
        lambda run: run["results"][0].update(level="info"),
        lambda run: run["results"][0].pop("message"),
        lambda run: run["results"][0].update(partialFingerprints={"a": 5}),
        lambda run: run["tool"]["driver"].pop("name"),
    ],
)
def test_log_that_is_not_valid_is_caught(pair: Pair, fault: Edit) -> None:
    log = pair.log(everything)
    fault(log["runs"][0])
    with pytest.raises(AssertionError):
        demand_valid(log)


def test_each_finding_has_what_a_viewer_shows(pair: Pair) -> None:
    [run] = pair.log(everything)["runs"]
    rules = run["tool"]["driver"]["rules"]
    assert len({rule["id"] for rule in rules}) == len(rules)
    for rule in rules:
        assert rule["help"]["text"]
        assert rule["shortDescription"]["text"]
        assert re.fullmatch(r"https://modelcontextprotocol\.io/\S+", rule["helpUri"])
    for one in run["results"]:
        assert rules[one["ruleIndex"]]["id"] == one["ruleId"]
        assert one["level"] in {"note", "warning", "error"}
        assert one["locations"][0]["physicalLocation"]["region"]["startLine"] >= 1
        assert re.fullmatch(
            r"[0-9a-f]{16}:\d+", one["partialFingerprints"]["primaryLocationLineHash"]
        )
    prints = [one["partialFingerprints"]["primaryLocationLineHash"] for one in run["results"]]
    assert len(set(prints)) == len(prints)


def test_finding_stands_at_its_line_of_the_file(pair: Pair) -> None:
    lines = pair.lines(pair.log(everything))
    assert lines["type_changed"] == ['"type": "string"']
    assert lines["default_changed"] == ['"default": 7,']
    assert lines["prompt_changed"] == lines["resource_changed"] == ["{"]
    assert '"instructions": "Be quick.",' in lines["server_changed"]


def test_finding_keeps_its_fingerprint_when_others_come_before_it(pair: Pair) -> None:
    def change(value: dict[str, Any]) -> None:
        properties(value)["days"]["type"] = "string"

    def more(value: dict[str, Any]) -> None:
        change(value)
        value["tools"].insert(0, {"name": "a_new_one", "inputSchema": {"type": "object"}})

    def known(log: Any) -> tuple[str, int]:
        [one] = [r for r in log["runs"][0]["results"] if r["ruleId"] == "contract.type_changed"]
        line = one["locations"][0]["physicalLocation"]["region"]["startLine"]
        return one["partialFingerprints"]["primaryLocationLineHash"], line

    first, second = known(pair.log(change)), known(pair.log(more))
    assert first[0] == second[0]
    assert first[1] < second[1]


def test_finding_about_a_file_that_people_wrote_stands_at_its_first_line(
    workshop: Workshop,
) -> None:
    folder = workshop.root / "contracts"
    folder.mkdir(exist_ok=True)
    for name, tools in (("old", [FORECAST]), ("new", [FORECAST, STATIONS])):
        value = taken({"tools": tools}).model_dump(exclude_none=True)
        (folder / f"{name}.mcpc.json").write_text(json.dumps(value))
    files = [f"contracts/{name}.mcpc.json" for name in ("old", "new")]
    [one] = workshop.run("contracts", "diff", *files, "--sarif").json["runs"][0]["results"]
    assert one["locations"][0]["physicalLocation"]["region"] == {"startLine": 1}
