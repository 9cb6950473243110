"""The suite finds a backend that leaks, whatever kind of leak it is, and whichever layer is missing."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from support.leaky import LeakyBackend
from support.sandboxes import strict
from tipstaff.errors import ContractError, SandboxError
from tipstaff.sandbox import mounts, seccomp
from tipstaff.sandbox.backend import SandboxBackend
from tipstaff.sandbox.bubblewrap import backend as bubblewrap
from tipstaff.sandbox.bubblewrap import layout
from tipstaff.sandbox.bubblewrap.backend import BubblewrapBackend
from tipstaff.sandbox.escape import cases, suite
from tipstaff.sandbox.escape.cases import Case

Line = list[str]
SLOW = {f"limits.{name}" for name in ("memory_of_many", "mapped_memory", "processor", "wall")}
# What even no isolation at all may refuse: this kernel or this machine has no such thing, or no backend did it.
ABSENT = {
    "files.by_planted_links",
    "files.sysrq",
    "kernel.modules",
    "kernel.ports",
    "network.daemon_sockets",
    "network.vsock",
}
KINDS = ("listener", "inventory", "canary", "victim", "survivors", "limit", "report")


def _outside_for(name: str, names: Sequence[str]) -> list[object]:
    """The names, of which one can only be seen to leak where there is a network to leak to."""
    return [pytest.param(one, marks=pytest.mark.network) if one == name else one for one in names]


def escaped(backend: SandboxBackend, chosen: Sequence[Case]) -> set[str]:
    """The ids of the cases that got out."""
    return {f.case for f in suite.run(backend, strict(), chosen) if f.outcome == "escaped"}


@pytest.mark.promise("ahead 15", "X1")
@pytest.mark.parametrize("part", _outside_for("network", cases.suite().parts))
def test_a_backend_that_isolates_nothing_fails(part: str) -> None:
    chosen = [case for case in cases.chosen((part,)) if case.id not in SLOW]
    found = escaped(LeakyBackend(), chosen)
    needs_root = () if os.geteuid() == 0 else ("kernel", "files", "network", "terminal")
    if part not in needs_root:
        assert {case.id for case in chosen} - found <= ABSENT
    assert len(found) * 3 > len(chosen)


@pytest.mark.nightly
@pytest.mark.promise("ahead 15")
def test_a_backend_that_limits_nothing_fails_the_slow_cases_too() -> None:
    chosen = [case for case in cases.cases() if case.id in SLOW]
    assert escaped(LeakyBackend(), chosen) == SLOW


@pytest.mark.parametrize("kind", _outside_for("report", KINDS))
def test_each_kind_of_evidence_is_seen_alone(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A program that reports nothing is caught by the host all the same, unless its word is all there is."""
    case = next(c for c in cases.cases() if c.judged == kind and c.id not in {*SLOW, *ABSENT})
    judged = suite._judge

    def unsaid(case: Case, kernel: str, word: object, evidence: list[str]) -> tuple[str, str]:
        return judged(case, kernel, suite._Word(started=True, ended=True), evidence)  # type: ignore[arg-type]

    if kind not in ("report", "limit"):
        monkeypatch.setattr(suite, "_judge", unsaid)
    assert escaped(LeakyBackend(), [case]) == {case.id}


def without(*names: str) -> Callable[[Line], Line]:
    """A layout that shares these namespaces with the host."""
    every = {"ipc", "net", "pid", "uts", "cgroup"}
    kept = [f"--unshare-{name}" for name in sorted(every - set(names))]

    def fault(line: Line) -> Line:
        position = line.index("--unshare-all")
        return [*line[:position], *kept, *line[position + 1 :]]

    return fault


def before_the_end(line: Line, *added: str) -> Line:
    position = line.index("--remount-ro")
    return [*line[:position], *added, *line[position:]]


def outside(line: Line) -> str:
    """The folder of the host that nothing may reach."""
    return str(Path(line[line.index("/work") - 1]).with_name("outside"))


LEAKS: dict[str, tuple[Callable[[Line], Line], set[str]]] = {
    "the network is shared": (
        without("net"),
        {
            "network.tcp_loopback",
            "network.udp_loopback",
            "network.abstract_socket",
            "routes.by_copy",
        },
    ),
    "the processes are shared": (
        without("pid"),
        {"processes.seen", "processes.signalled"},
    ),
    "the memory is shared": (without("ipc"), {"processes.shared_memory"}),
    "the host's folders are shown": (
        lambda line: before_the_end(line, "--ro-bind", outside(line), outside(line)),
        {"disclosure.home", "network.agent_socket"},
    ),
    "the host's folders may be written": (
        lambda line: before_the_end(line, "--bind", outside(line), outside(line)),
        {"files.by_path", "files.by_proc_root", "files.by_symlink", "files.persistence"},
    ),
    "the input may be written": (
        lambda line: [*line[: line.index("/work") - 2], "--bind", *line[line.index("/work") - 1 :]],
        {"files.write_input", "files.persistence"},
    ),
    "the host's devices are shown": (
        lambda line: before_the_end(
            line, "--bind", "/dev/shm", "/dev/shm", "--dev-bind", "/dev/pts", "/dev/pts"
        ),
        {"files.shared_memory_folder", "terminal.written"},
    ),
    "the environment is passed on": (
        lambda line: before_the_end(line, "--setenv", "TOKEN", os.environ.get("GITHUB_TOKEN", "")),
        {"disclosure.own_environment"},
    ),
}


@pytest.mark.promise("ahead 15")
@pytest.mark.parametrize("leak", LEAKS)
def test_one_leak_in_a_layout_that_is_sound_otherwise_fails(
    leak: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    fault, expected = LEAKS[leak]
    backend = accepted(monkeypatch)
    sound = layout.arguments
    monkeypatch.setattr(layout, "arguments", lambda spec, sources=None: fault(sound(spec, sources)))
    chosen = [case for case in cases.cases() if case.id in expected]
    assert escaped(backend, chosen) == expected


@pytest.mark.promise("ahead 15", "row 99")
def test_a_layout_without_its_filter_of_calls_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    backend = accepted(monkeypatch)
    monkeypatch.setattr(seccomp, "program", lambda: seccomp._line(0x06, 0x7FFF0000))
    found = escaped(backend, cases.chosen(("kernel", "network")))
    assert {"kernel.ptrace", "kernel.keyring", "network.netlink"} <= found


def accepted(monkeypatch: pytest.MonkeyPatch) -> SandboxBackend:
    """bubblewrap after its own probe found it sound, and with nobody looking at its mounts any more."""
    monkeypatch.setattr(mounts, "check", lambda pid, spec: None)
    backend = BubblewrapBackend(bubblewrap.programs()[0], strict())
    assert backend.probe().available
    return backend


def test_a_backend_that_does_not_start_leaves_its_cases_unjudged(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Broken(LeakyBackend):
        def run(self, spec: object) -> object:  # type: ignore[override]
            raise SandboxError("sandbox.setup", "no user namespaces", fix="none")

    chosen = cases.chosen(("network",))
    found = list(suite.run(Broken(), strict(), chosen))  # type: ignore[arg-type]
    assert {f.outcome for f in found} == {"unjudged"}
    assert len(found) == len(chosen)


def test_a_run_that_never_came_to_a_case_leaves_it_unjudged() -> None:
    class Silent(LeakyBackend):
        def argv(self, spec: object) -> list[str]:  # type: ignore[override]
            return []

        def run(self, spec):  # type: ignore[no-untyped-def]
            return super().run(replace(spec, argv=("/bin/true",)))

    for case in ("limits.memory", "network.tcp_loopback"):
        (found,) = suite.run(Silent(), strict(), cases.chosen((case,)))
        assert found.outcome == "unjudged"


def test_a_program_that_cannot_be_found_is_no_pass() -> None:
    case = cases.chosen(("network.dns",))[0].model_copy(update={"id": "network.no_such_program"})
    (found,) = suite.run(LeakyBackend(), strict(), [case])
    assert found.outcome == "unjudged"
    assert "no_such_program" in found.said


def test_a_case_or_part_that_does_not_exist_is_refused() -> None:
    with pytest.raises(ContractError) as raised:
        cases.chosen(("network", "nonsense"))
    assert raised.value.code == "sandbox.case_unknown"
