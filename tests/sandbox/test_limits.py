"""Every limit, hit on purpose. Limits are small here; the rule is the same for the profile's own."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest

from support.sandboxes import (
    SPENDERS,
    comes_true,
    hog,
    processes_with,
    run_inside,
    snippet,
    strict,
)
from tipstaff.sandbox.backend import SandboxBackend


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
    result = run_inside(backend, hog(600), tmp_path / "in", memory_mb=128)
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


@pytest.mark.req("S-09")
@pytest.mark.promise("X6", "row 95")
def test_a_flood_of_files_fills_no_more_than_its_own_folder(
    backend: SandboxBackend, tmp_path: Path
) -> None:
    code = """
import errno, os
made = 0
try:
    while True:
        os.mkdir(f"/scratch/{made}")
        made += 1
        if made % 10000 == 0: print(made, flush=True)
except OSError as error:
    print(errno.errorcode[error.errno], made)
"""
    result = run_inside(backend, code, tmp_path / "in", inodes=500, wall_s=20)
    ended = (result.limit, result.exit_code) == ("inodes", 137)
    refused = result.stdout.split()[:1] == ["ENOSPC"] and int(result.stdout.split()[1]) <= 500
    assert ended or refused, result


@pytest.mark.req("S-04", "S-10")
def test_a_sleep_is_killed_at_the_wall_limit(backend: SandboxBackend, tmp_path: Path) -> None:
    begun = time.monotonic()
    result = run_inside(backend, "import time; time.sleep(90)", tmp_path / "in", wall_s=1)
    assert 1 <= time.monotonic() - begun < 3
    assert (result.timed_out, result.exit_code, result.limit) == (True, 124, "wall_s")
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
    result = run_inside(backend, SPENDERS, tmp_path / "in", cpu_s=1, wall_s=30)
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
