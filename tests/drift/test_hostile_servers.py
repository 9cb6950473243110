"""Servers that misbehave: each ends in an error of its own or is captured whole, in bounded time and memory."""

from __future__ import annotations

import resource
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from support.observing import raw, seen
from support.sandboxes import BACKENDS
from tipstaff.documents.contract import definition_sha256
from tipstaff.documents.observation import Attempt
from tipstaff.drift.observing import origin
from tipstaff.drift.observing.observe import observe
from tipstaff.drift.observing.target import Call
from tipstaff.errors import SandboxError, UnobservedError
from tipstaff.evidence.isolation import Isolation
from tipstaff.sandbox.profile import load
from tipstaff.sandbox.unisolated import UnisolatedBackend

INCOMPLETE, UNSTEADY = "contract.incomplete", "contract.unsteady"
UNREACHABLE, REFUSED = "contract.unreachable", "contract.error_response"
# Way: code, and a part of what is said. The first of each group is tried at each commit, all of them each night.
PAGES = {
    "same-cursor": (INCOMPLETE, "a cursor that was there before"),
    "loop": (INCOMPLETE, "a cursor that was there before"),
    "endless": (INCOMPLETE, "more than 100 pages"),
    "endless-empty": (INCOMPLETE, "more than 100 pages"),
    "empty-cursor": (INCOMPLETE, "at no cursor"),
    "number-cursor": (INCOMPLETE, "at no cursor"),
    "second-page-error": (INCOMPLETE, "page 2 of tools is an error"),
    "second-page-type": (INCOMPLETE, "page 2 of tools holds no list"),
    "second-page-empty": (INCOMPLETE, "page 2 of tools holds no list"),
}
BOMBS = {
    "many": (INCOMPLETE, "more than 5000 entries"),
    "huge": (INCOMPLETE, "larger than 1048576 bytes"),
    "text": (INCOMPLETE, "larger than 1048576 bytes"),
    "deep": (INCOMPLETE, "recursion limit"),
    "utf8": (INCOMPLETE, "unicode"),
    "half": (INCOMPLETE, "no answer, no byte"),
    "silent": (UNREACHABLE, "no answer, no byte"),
    "silent-list": (INCOMPLETE, "no answer, no byte"),
    "busy": (INCOMPLETE, "no answer within"),
    "trickle": (INCOMPLETE, "no answer within"),
    "floods": (INCOMPLETE, "sent more than"),
    "line": (INCOMPLETE, "larger than 1048576 bytes"),
}
REST = {
    "crash": (INCOMPLETE, "exit code 3"),
    "gone": (INCOMPLETE, "exit code 4"),
    "error": (REFUSED, "-32603 internal error"),
    "refuses": (REFUSED, "-32602 not today"),
    "broken-prompts": (REFUSED, "page 1 of prompts"),
    "schema": (INCOMPLETE, "a schema is an object"),
    "nameless": (INCOMPLETE, "has no name"),
    "integer": (INCOMPLETE, r"beyond .*2\^53"),
    "duplicate-key": (INCOMPLETE, "appears twice"),
    "surrogate": (INCOMPLETE, "cannot be read"),
    "changing": (UNSTEADY, "within one session: tools/forecast"),
    "per-connection": (UNSTEADY, "between two sessions: tools/for-"),
}
EACH_COMMIT = ("same-cursor", "second-page-error", "many", "huge", "half", "crash")
EACH_COMMIT += ("changing", "per-connection")
EVERY = {**PAGES, **BOMBS, **REST}


def demand_error(way: str, root: Path) -> UnobservedError:
    """The error that a way ends in, with the report of it."""
    code, said = EVERY[way]
    with pytest.raises(UnobservedError, match=said) as refusal:
        seen(raw(way), root=root)
    assert (refusal.value.code, refusal.value.exit_code) == (code, 3)
    assert refusal.value.report is not None
    return refusal.value


@pytest.mark.req("C-04")
@pytest.mark.promise("BR-01", "M4", "row 110", "row 114")
@pytest.mark.parametrize("way", EACH_COMMIT)
def test_server_that_misbehaves_is_an_error_of_its_own(tmp_path: Path, way: str) -> None:
    demand_error(way, tmp_path)


@pytest.mark.nightly
@pytest.mark.promise("BR-01", "M4", "row 110", "row 114")
@pytest.mark.parametrize("way", [way for way in EVERY if way not in EACH_COMMIT])
def test_every_way_of_misbehaving_is_an_error_of_its_own(tmp_path: Path, way: str) -> None:
    demand_error(way, tmp_path)


@pytest.mark.nightly
@pytest.mark.promise("M4", "row 114")
@pytest.mark.parametrize("way", BOMBS)
def test_bomb_costs_this_process_no_memory(tmp_path: Path, way: str, record_property: Any) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    error = demand_error(way, tmp_path)
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) >> 10
    sandbox = error.report.sandbox
    record_property("grown_mib", grown)
    record_property("duration_ms", sandbox.duration_ms if sandbox else None)
    assert grown <= 100


@pytest.mark.promise("BR-01")
def test_every_page_is_in_the_snapshot(tmp_path: Path) -> None:
    found = seen(raw("pages"), root=tmp_path)
    assert [tool["name"] for tool in found.snapshot.tools] == [f"t{n}" for n in range(8)]
    assert found.report.pages == 24


def test_what_is_odd_and_harmless_is_survived_and_told(tmp_path: Path) -> None:
    noisy = seen(raw("noise"), root=tmp_path)
    assert noisy.report.noise_lines == 64
    assert noisy.report.noise[0] == "starting step 0 ..."
    plain = seen(raw("notify"), root=tmp_path)
    assert plain.report.notifications == 3
    assert plain.snapshot.tools == noisy.snapshot.tools


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("way", "note"),
    [("deaf", "greeted anew"), ("no-prompts", "prompts cannot be listed"), ("shy", "greeted anew")],
)
def test_server_of_another_time_is_captured(tmp_path: Path, way: str, note: str) -> None:
    found = seen(raw(way), root=tmp_path)
    assert len(found.snapshot.tools) == 2
    assert note in "; ".join(found.report.notes)


@pytest.mark.nightly
@pytest.mark.parametrize("way", ["reordered", "hash-order", "asks", "forks", "stays", "nothing"])
def test_harmless_way_is_captured_the_same_twice(tmp_path: Path, way: str) -> None:
    first, second = (seen(raw(way), root=tmp_path) for _ in range(2))
    assert first.snapshot.digest == second.snapshot.digest


def test_what_a_server_sent_is_kept_member_by_member(tmp_path: Path) -> None:
    [tool] = seen(raw("unknown"), root=tmp_path).snapshot.tools
    assert tool["execution"] == {"x": 1}
    assert (tool["icons"], tool["title"]) == ([{"src": "data:,"}], "F")


@contextmanager
def listening() -> Iterator[tuple[socket.socket, int]]:
    """A port of this machine on which somebody would notice a caller."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.setblocking(False)
        yield server, server.getsockname()[1]


def attempted(attempts: list[Attempt]) -> set[tuple[str, str]]:
    return {(one.kind, one.what) for one in attempts}


@pytest.mark.promise("ahead 16")
@pytest.mark.parametrize("backend", BACKENDS)
def test_hostile_server_leaves_no_trace_and_is_reported(tmp_path: Path, backend: str) -> None:
    home = Path(f"/home/nobody-of-{tmp_path.name}")
    with listening() as (server, port):
        target = raw("hostile", str(home), "127.0.0.1", str(port))
        found = seen(target, root=tmp_path, backend=backend)
        with pytest.raises(BlockingIOError):
            server.accept()
    for trace in (home, Path("/usr/evil"), Path("/usr/bin/evil"), Path("/etc/cron.d/evil")):
        assert not trace.exists()
    report = found.report
    assert "/scratch/left-behind" in report.written
    assert report.sandbox
    if report.sandbox.kernel == "host":
        assert report.watched == "system_calls"
        assert attempted(report.attempts) >= {
            ("network", f"127.0.0.1:{port}"),
            ("network", "192.0.2.7:53"),
            ("network", "[2001:db8::1]:443"),
            ("socket", "/var/run/docker.sock"),
            ("write", f"{home}/.bashrc"),
            ("write", "/usr/evil"),
            ("write", "/usr/bin/evil"),
            ("write", "/etc/cron.d/evil"),
            ("write", "/etc/evil"),
        }
    else:
        assert ("network", "Tcp: AttemptFails") in attempted(report.attempts)


def test_server_is_never_started_without_isolation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Isolation, "strongest", lambda self: UnisolatedBackend())
    with pytest.raises(SandboxError) as refusal:
        observe(raw("plain"), Isolation(load("dev")), root=tmp_path)
    assert refusal.value.code == "sandbox.unavailable"


def test_program_that_is_not_there_is_unreachable(tmp_path: Path) -> None:
    with pytest.raises(UnobservedError) as refusal:
        seen(replace(raw("plain"), command=("no-such-server",)), root=tmp_path)
    assert refusal.value.code == UNREACHABLE


APPROVED = {
    "name": "forecast",
    "description": "As approved.",
    "inputSchema": {"type": "object"},
}


def call(times: int = 1) -> Call:
    """A call of the tool as it was approved."""
    return Call("c1", "forecast", {"place": "Bern"}, definition_sha256(APPROVED), times)


def flipping(way: str, at: int, root: Path, times: int) -> str:
    """What a server says of its calls whose tool is another one from the nth list or call on."""
    with pytest.raises(UnobservedError) as refusal:
        seen(raw(way, str(at)), call(times), root=root)
    assert refusal.value.code == UNSTEADY
    return str(refusal.value.report.stderr)


@pytest.mark.promise("M2", "row 110")
def test_call_is_refused_where_the_tool_is_another_one_now(tmp_path: Path) -> None:
    changed = Call("c2", "forecast", {}, "0" * 64)
    steady = seen(raw("flip", "1000"), call(3), changed, root=tmp_path)
    told = {"content": [{"type": "text", "text": "forecast called"}]}
    assert steady.answers["c1"] == [{"result": told}] * 3
    assert steady.answers["c2"] == [{"refused": "the tool's definition is another one now"}]
    assert "ran the changed tool" not in flipping("flip", 4, tmp_path, 8)


@pytest.mark.nightly
@pytest.mark.promise("M2")
def test_no_race_of_a_thousand_runs_a_tool_that_changed(
    tmp_path: Path, record_property: Any
) -> None:
    ran = sum(
        "ran the changed tool" in flipping("flip", at, tmp_path, 100) for at in range(3, 203, 20)
    )
    record_property("races", 1000)
    record_property("ran_changed", ran)
    assert ran == 0


@pytest.mark.promise("row 116")
def test_program_that_changed_under_the_same_name_is_another_contract(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    program = tmp_path / "server.py"
    text = Path(raw().command[1]).read_text()  # type: ignore[index]
    program.write_text(text)
    command = (sys.executable, str(program), "plain")
    kept = seen(replace(raw("plain"), command=command), root=tmp_path).snapshot.source
    program.write_text(f"{text}# changed\n")
    changed = origin.find(command, tmp_path).executable_sha256
    assert changed != kept.executable_sha256
    assert None not in (changed, kept.executable_sha256)
