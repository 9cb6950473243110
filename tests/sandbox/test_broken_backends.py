"""Backends that are missing, broken, old or fakes: each is passed over with its reason, and nothing runs in it."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

from support.sandboxes import environment, snippet, strict
from tipstaff.documents.sandbox import SandboxProfile
from tipstaff.errors import SandboxError
from tipstaff.evidence import golden
from tipstaff.sandbox import launch, selection
from tipstaff.sandbox.backend import SandboxBackend
from tipstaff.sandbox.bubblewrap import backend as bubblewrap
from tipstaff.sandbox.bubblewrap.backend import BubblewrapBackend
from tipstaff.sandbox.diagnosis import diagnose
from tipstaff.sandbox.nsjail import backend as nsjail
from tipstaff.sandbox.nsjail.backend import NsjailBackend

Make = Callable[[Path, SandboxProfile], SandboxBackend]
KINDS: dict[str, tuple[ModuleType, Make]] = {
    "bubblewrap": (bubblewrap, BubblewrapBackend),
    "nsjail": (nsjail, NsjailBackend),
}
# What lies at the program's place, and whether it may be executed.
BROKEN: dict[str, tuple[bytes | None, int]] = {
    "not there": (None, 0),
    "not executable": (b"#!/bin/sh\nexit 0\n", 0o644),
    "empty": (b"", 0o755),
    "of another machine": (b"\x7fELF\x02\x01\x01" + bytes(57), 0o755),
    "ends with 1": (b"#!/bin/sh\nexit 1\n", 0o755),
    "ends with 0 and does nothing": (b"#!/bin/sh\nexit 0\n", 0o755),
    "too old": (b"#!/bin/sh\necho 'Unknown option --disable-userns' >&2\nexit 1\n", 0o755),
    "refused namespaces": (b"#!/bin/sh\necho 'clone(CLONE_NEWUSER) failed' >&2\nexit 255\n", 0o755),
    "waits for ever": (b"#!/bin/sh\nexec sleep 60\n", 0o755),
    "runs it without isolation": (
        b'#!/bin/sh\nwhile [ "$1" != "--" ]; do shift; done\nshift\n"$@"\n',
        0o755,
    ),
}


def placed(folder: Path, content: bytes | None, mode: int) -> Path:
    """A program that everyone can reach."""
    folder.mkdir()
    for parent in (folder, *folder.parents):
        if parent.is_relative_to("/tmp") and parent != Path("/tmp"):
            parent.chmod(parent.stat().st_mode | 0o011)
    program = folder / "program"
    if content is not None:
        program.write_bytes(content)
        program.chmod(mode)
    return program


@pytest.mark.req("S-03", "S-06", "KG-10")
@pytest.mark.promise("X2", "row 105", "BR-26")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("case", BROKEN)
def test_a_broken_backend_runs_nothing_and_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, case: str
) -> None:
    monkeypatch.setattr(launch, "_SETUP_S", 1.0)
    _, make = KINDS[kind]
    backend = make(placed(tmp_path / "bin", *BROKEN[case]), strict())
    probe = backend.probe()
    assert not probe.available
    assert probe.held == ()
    assert probe.reason
    assert probe.fix
    mark = tmp_path / "ran"
    spec = snippet(f"open({str(mark)!r}, 'w')", tmp_path / "in", strict())
    with pytest.raises(SandboxError) as raised:
        backend.run(spec)
    assert (raised.value.code, raised.value.exit_code) == ("sandbox.unavailable", 3)
    assert not mark.exists()


@pytest.mark.promise("BR-26")
@pytest.mark.parametrize(
    ("said", "primitive"),
    [
        (
            "clone(flags=CLONE_NEWNS|CLONE_NEWUSER) failed: Operation not permitted",
            "user namespaces",
        ),
        ("mount('none' -> '/tmp/nsjail.65534.root//proc'): Operation not permitted", "/proc"),
        ("prctl(PR_SET_SECCOMP) failed: Invalid argument", "system call filters"),
        ("Could not compile policy: kafel: 1:1: syntax error", "system call filters"),
        ("mount('/' -> '/', MS_REC|MS_PRIVATE): Permission denied", "the right to mount"),
        ("unrecognised words", "did not set up a sandbox"),
        ("", "said nothing"),
    ],
)
def test_what_nsjail_lacks_is_named(said: str, primitive: str) -> None:
    found = diagnose(said.encode(), 255, otherwise="see by hand")
    assert primitive in found.reason or "user namespaces" in found.reason
    assert found.fix


@pytest.mark.req("S-01")
def test_a_test_command_is_started_by_a_sandbox_and_by_nothing_else(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tipstaff.evidence.diff import read
    from tipstaff.evidence.repository import Repository

    (repository / "test_one.py").write_text("def test_one(): pass\n")
    git = ("git", "-C", str(repository))
    subprocess.run([*git, "add", "-A"], check=True)
    subprocess.run([*git, "commit", "-qm", "tests"], check=True)
    started: list[list[str]] = []
    start = subprocess.Popen.__init__

    def noted(self: object, args: list[str], *rest: object, **options: object) -> None:
        started.append([os.fspath(word) for word in args])
        start(self, args, *rest, **options)  # type: ignore[call-overload]

    opened = Repository.open(repository)
    diff = b"--- /dev/null\n+++ b/new.txt\n@@ -0,0 +1 @@\n+x\n"
    patch = read(opened, diff)
    monkeypatch.setattr(subprocess.Popen, "__init__", noted)
    golden.run(
        opened, patch, "python -m pytest -q marker-of-the-command", profile=strict(), test_paths=()
    )
    assert any("marker-of-the-command" in word for line in started for word in line)
    sandboxes = {path.name for kind in selection.KINDS for path in kind.programs()}
    assert {Path(line[0]).name for line in started} <= {"git", *sandboxes}


@pytest.mark.req("S-07")
def test_docker_alone_is_no_backend(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for kind in selection.KINDS:
        monkeypatch.setattr(kind.module, "programs", lambda: ())
    mark = tmp_path / "ran"
    placed(tmp_path / "bin", f"#!/bin/sh\ntouch {mark}\n".encode(), 0o755).rename(
        tmp_path / "bin/docker"
    )
    with environment(PATH=str(tmp_path / "bin")):
        assert not any(probe.available for probe in selection.survey())
        with pytest.raises(SandboxError) as raised:
            selection.strongest(strict())
    assert raised.value.code == "sandbox.unavailable"
    assert not mark.exists()
