"""Published servers, captured in the sandbox; what their upgrades change is foretold from their sources, by hand."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import yaml

from support.observing import seen
from support.published import LOCKS, Published
from support.workshop import Workshop
from tipstaff.documents.contract_diff import ContractFinding
from tipstaff.drift.diff import diff
from tipstaff.drift.observing.target import Observation, Target
from tipstaff.engine import Engine
from tipstaff.healing.contracts import compare

EXPECTED = Path(__file__).parent / "expected"
NAMES = sorted(path.stem for path in EXPECTED.iterdir())
Gist = tuple[str, str, str, str, str]
pytestmark = pytest.mark.usefixtures("published")


def foretold(value: Any) -> Counter[Gist]:
    """The findings of a file: kind, severity, authority, tools and path."""
    findings = list(value["findings"])
    for each in value.get("each", []):
        findings += [
            {**each["finding"], "path": each["finding"]["path"].replace("{}", str(number))}
            for number in range(each["from"], each["to"] + 1)
        ]
    return Counter(
        (
            one["kind"],
            one["severity"],
            one["authority"],
            ", ".join(one.get("tools", [one.get("tool") or "server"])),
            one["path"],
        )
        for one in findings
    )


def gist(one: ContractFinding) -> Gist:
    """The same of a finding; one about several tools lists them at the end of its message."""
    tools = one.message.rpartition(" tools: ")[2] if " tools: " in one.message else "server"
    return (one.kind, one.severity, one.authority, one.tool or tools, one.path)


def observed(servers: list[Published], root: Path) -> Iterator[Observation]:
    """The servers, side by side."""
    with ThreadPoolExecutor() as pool:
        yield from pool.map(
            lambda server: seen(Target(server.name, server.command), root=root), servers
        )


@pytest.mark.req("C-01", "C-03")
@pytest.mark.promise("M1", "BR-02", "ahead 1")
@pytest.mark.parametrize("name", NAMES)
def test_upgrade_has_exactly_the_findings_that_its_sources_foretell(
    name: str, workshop: Workshop, tmp_path: Path
) -> None:
    value = yaml.safe_load((EXPECTED / f"{name}.yaml").read_text())
    servers = [Published(name, value[side]) for side in ("old", "new")]
    sides = list(observed(servers, tmp_path))
    for server, side in zip(servers, sides, strict=True):
        demand_quiet(side)
        demand_packages(server, side)
    assert [len(side.snapshot.tools) for side in sides] == value["tools"]
    with Engine.open(str(workshop.root)) as engine:
        found = compare(engine, *(side.snapshot for side in sides)).diff
    own = [one for one in found.findings if not one.path.startswith("/source/")]
    assert Counter(map(gist, own)) == foretold(value)
    # Each version has its own folder, code and packages here.
    rest = {one.path for one in found.findings} - {one.path for one in own}
    moved = "command" if servers[0].is_python else "arguments"
    assert rest == {f"/source/{word}" for word in (moved, "dependencies", "executable_sha256")}


def demand_quiet(side: Observation) -> None:
    """A server that is what it says tries nothing that the sandbox refuses, and leaves nothing."""
    assert side.report.attempts == []
    assert side.report.written == []
    assert side.report.noise_lines == 0


def demand_packages(server: Published, side: Observation) -> None:
    """What it is made of is what was locked, and itself among it."""
    locked, made_of = server.locked(), side.snapshot.source.dependencies
    assert made_of
    for name, version in made_of.items():
        assert set(version.split(", ")) <= locked[name], name
    own = (
        f"mcp-server-{server.name}"
        if server.is_python
        else f"@modelcontextprotocol/server-{server.name}"
    )
    assert made_of[own] == server.version


@pytest.mark.req("C-03")
def test_server_says_the_same_when_it_is_asked_again(tmp_path: Path) -> None:
    server = Published("memory", "2026.8.31")
    one, other = observed([server, server], tmp_path)
    assert one.snapshot.digest == other.snapshot.digest


def test_client_that_can_do_more_gets_other_tools_and_that_is_on_record(tmp_path: Path) -> None:
    command = Published("everything", "2026.8.31").command
    able = seen(
        Target("everything", command, client_capabilities=("elicitation", "roots", "sampling")),
        root=tmp_path,
    ).snapshot
    # tools/get-roots-list.js 26, trigger-elicitation-request.js 29, trigger-sampling-request.js 37
    more = {"get-roots-list", "trigger-elicitation-request", "trigger-sampling-request"}
    assert more <= {tool["name"] for tool in able.tools}
    assert able.source.client_capabilities.keys() == {"elicitation", "roots", "sampling"}


def test_time_zone_of_the_environment_is_in_the_contract_and_on_record(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    command = Published("time", "0.6.2").command
    usual = seen(Target("time", command), root=tmp_path).snapshot
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    there = seen(
        Target("time", (*command, "--local-timezone", "Asia/Tokyo")), root=tmp_path
    ).snapshot
    found = diff(usual, there)
    # server.py 133, 147, 155: the zone is named in three descriptions; the variable of this machine does not get in.
    words = [one for one in found if one.kind == "description_changed"]
    assert [one.path.rpartition("properties/")[2] for one in words] == [
        "source_timezone/description",
        "target_timezone/description",
        "timezone/description",
    ]
    assert all("'UTC'" in one.before and "'Asia/Tokyo'" in one.after for one in words)
    assert {one.path for one in found} - {one.path for one in words} == {"/source/arguments"}
    assert usual.source.environment == ["PYTHONHASHSEED", "TZ"]


def test_every_server_is_locked_at_two_versions_that_are_far_apart() -> None:
    locked = {path.name.rpartition("-")[0] for path in LOCKS.iterdir()}
    assert set(NAMES) == locked - {"sarif", "conformance"}
    for name in NAMES:
        assert len(list(LOCKS.glob(f"{name}-*"))) >= 2
