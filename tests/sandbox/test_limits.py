"""Every limit, hit on purpose. Limits are small here; the rule is the same for the profile's own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from support.sandboxes import comes_true, processes_with, run_inside, snippet, strict
from tipstaff.sandbox.backend import SandboxBackend

TESTS = Path(__file__).parents[1]


@contextmanager
def launched(folder: Path, marker: str) -> Iterator[subprocess.Popen[bytes]]:
    """A process of its own that runs a long sleep inside; the marker is on all their command lines."""
    program = f"""
from dataclasses import replace
from pathlib import Path
from support.sandboxes import snippet, strict
from tipstaff.sandbox.selection import strongest
spec = snippet("import time; time.sleep(60)", Path({str(folder)!r}), strict())
strongest(strict()).run(replace(spec, argv=(*spec.argv, {marker!r})))
"""
    path = os.pathsep.join((str(TESTS), os.environ.get("PYTHONPATH", "")))
    launcher = subprocess.Popen(
        [sys.executable, "-c", program, marker],
        env={**os.environ, "PYTHONPATH": path},
        stderr=subprocess.DEVNULL,
    )
    try:
        yield launcher
    finally:
        launcher.kill()
        launcher.wait()


def is_up(marker: str) -> bool:
    """Whether the snippet itself runs: its interpreter has started on it, past bubblewrap's set-up."""
    return any(
        Path("/proc", str(pid), "cmdline").read_bytes().split(b"\0")[1:2] == [b"-I"]
        for pid in processes_with(f"/work/snippet.py\0{marker}")
    )


@pytest.mark.req("S-04", "S-09")
def test_allocating_more_than_the_memory_limit_fails(
    backend: SandboxBackend, tmp_path: Path
) -> None:
    result = run_inside(backend, "block = bytearray(600 << 20); print('got it')", tmp_path / "in")
    assert result.exit_code != 0
    assert "got it" not in result.stdout


@pytest.mark.req("S-04", "S-09")
def test_shared_memory_over_the_limit_is_killed_and_said(
    backend: SandboxBackend, tmp_path: Path
) -> None:
    code = """
import mmap, time
blocks = []
for _ in range(60):
    block = mmap.mmap(-1, 10 << 20)
    for page in range(0, 10 << 20, 4096):
        block[page] = 1
    blocks.append(block)
time.sleep(5)
print('got it')
"""
    result = run_inside(backend, code, tmp_path / "in", memory_mb=128)
    assert result.exit_code == 137
    assert result.oom is True
    assert "got it" not in result.stdout


@pytest.mark.req("S-09")
def test_a_fork_bomb_of_200_is_capped_at_64(backend: SandboxBackend, tmp_path: Path) -> None:
    code = """
import os, time
made = 0
for _ in range(200):
    try:
        if os.fork() == 0:
            time.sleep(30)
            os._exit(0)
        made += 1
    except BlockingIOError:
        break
print(made)
"""
    result = run_inside(backend, code, tmp_path / "in")
    assert 0 < int(result.stdout) <= 64


@pytest.mark.req("S-04", "S-10")
def test_a_sleep_is_killed_at_the_wall_limit(backend: SandboxBackend, tmp_path: Path) -> None:
    begun = time.monotonic()
    result = run_inside(backend, "import time; time.sleep(90)", tmp_path / "in", wall_s=1)
    assert 1 <= time.monotonic() - begun < 3
    assert (result.timed_out, result.exit_code) == (True, 124)
    assert 1000 <= result.duration_ms < 3000


@pytest.mark.req("S-09")
def test_a_busy_loop_is_killed_at_the_cpu_limit(backend: SandboxBackend, tmp_path: Path) -> None:
    result = run_inside(backend, "while True: pass", tmp_path / "in", cpu_s=1, wall_s=20)
    assert not result.timed_out
    assert result.exit_code in (137, 128 + signal.SIGXCPU)


@pytest.mark.req("S-09")
def test_cpu_time_of_many_processes_is_counted_together(
    backend: SandboxBackend, tmp_path: Path
) -> None:
    code = """
import os, time
for _ in range(20):
    pid = os.fork()
    if pid == 0:
        end = time.process_time() + 0.4
        while time.process_time() < end: pass
        os._exit(0)
    os.waitpid(pid, 0)
print('all done')
"""
    result = run_inside(backend, code, tmp_path / "in", cpu_s=1, wall_s=30)
    assert result.exit_code == 137
    assert "all done" not in result.stdout


@pytest.mark.req("S-09")
def test_files_and_scratch_have_a_size_limit(backend: SandboxBackend, tmp_path: Path) -> None:
    code = """
import errno, signal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
def filled(path):
    written = 0
    try:
        with open(path, "wb", buffering=0) as file:
            while True:
                written += file.write(b"x" * (1 << 20))
    except OSError as error:
        return f"{errno.errorcode[error.errno]}:{written >> 20}"
print(filled("/scratch/one"), filled("/scratch/two"), filled("/scratch/three"))
"""
    result = run_inside(backend, code, tmp_path / "in", file_size_mb=6, scratch_mb=16)
    assert result.stdout.split() == ["EFBIG:6", "EFBIG:6", "ENOSPC:4"]


@pytest.mark.req("S-09")
def test_open_files_are_limited(backend: SandboxBackend, tmp_path: Path) -> None:
    code = """
import errno
files = []
try:
    while True: files.append(open("/dev/null"))
except OSError as error:
    count = len(files)
    files.clear()
    print(errno.errorcode[error.errno], count)
"""
    result = run_inside(backend, code, tmp_path / "in")
    name, count = result.stdout.split()
    assert name == "EMFILE"
    assert int(count) < 256


@pytest.mark.req("S-10")
def test_ten_megabytes_of_output_are_capped_at_one(backend: SandboxBackend, tmp_path: Path) -> None:
    code = "import sys\nfor _ in range(10): sys.stdout.write('x' * (1 << 20))\nsys.exit(3)"
    result = run_inside(backend, code, tmp_path / "in")
    assert len(result.stdout) == 1 << 20
    assert result.truncated
    assert result.exit_code == 3


def test_grandchildren_in_sessions_of_their_own_end_with_the_timeout(
    backend: SandboxBackend, tmp_path: Path
) -> None:
    marker = f"tipstaff-orphan-{os.getpid()}"
    code = f"""
import os, signal, subprocess, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.execv(sys.executable, [sys.executable, "-c", "import time; time.sleep(60)", {marker!r}])
    os._exit(0)
time.sleep(60)
"""
    result = run_inside(backend, code, tmp_path / "in", wall_s=1)
    assert result.timed_out
    assert comes_true(lambda: not processes_with(marker), within_s=1)


def test_a_background_process_ends_with_the_command(
    backend: SandboxBackend, tmp_path: Path
) -> None:
    marker = f"tipstaff-background-{os.getpid()}"
    code = f"""
import subprocess, sys
subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)", {marker!r}])
print("left behind")
"""
    begun = time.monotonic()
    result = run_inside(backend, code, tmp_path / "in")
    assert result.stdout == "left behind\n"
    assert time.monotonic() - begun < 5
    assert comes_true(lambda: not processes_with(marker), within_s=1)


@pytest.mark.parametrize("after_s", [None, *(step / 1000 for step in range(13))])
def test_killing_the_launcher_leaves_no_process_behind(
    tmp_path: Path, after_s: float | None
) -> None:
    marker = f"tipstaff-launched-{os.getpid()}"
    with launched(tmp_path / "in", marker) as launcher:
        if after_s is None:
            assert comes_true(lambda: is_up(marker), within_s=20)
        else:
            # As soon as bubblewrap is there, or a moment later: during the set-up.
            assert comes_true(lambda: len(processes_with(marker)) >= 2, within_s=20)
            time.sleep(after_s)
        launcher.kill()
        launcher.wait()
        assert comes_true(lambda: not processes_with(marker), within_s=2)


def test_an_interrupt_ends_the_run_at_once(tmp_path: Path) -> None:
    marker = f"tipstaff-interrupted-{os.getpid()}"
    with launched(tmp_path / "in", marker) as launcher:
        assert comes_true(lambda: is_up(marker), within_s=20)
        launcher.send_signal(signal.SIGINT)
        assert launcher.wait(5) != 0
        assert comes_true(lambda: not processes_with(marker), within_s=1)


def test_outputs_are_regular_files_of_bounded_size(backend: SandboxBackend, tmp_path: Path) -> None:
    code = """
import os
os.mkdir("/scratch/folder")
open("/scratch/good", "w").write("fine")
open("/scratch/folder/deep", "w").write("fine too")
os.symlink("/etc/passwd", "/scratch/link")
os.symlink("folder", "/scratch/linked")
os.mkfifo("/scratch/pipe")
with open("/scratch/huge", "wb") as file:
    file.truncate(9 << 20)
"""
    names = ("good", "folder/deep", "folder", "link", "linked/deep", "pipe", "huge", "absent")
    outputs = tuple(f"/scratch/{name}" for name in names)
    result, found = backend.run(snippet(code, tmp_path / "in", strict(), outputs=outputs))
    assert result.exit_code == 0
    assert found == {"/scratch/good": b"fine", "/scratch/folder/deep": b"fine too"}
