"""Nothing is left of a run: not when it ends, not when Tipstaff is killed at any moment of it."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from support.sandboxes import comes_true, present, processes_with, run_inside, snippet, strict
from tipstaff.sandbox import cgroup, launch
from tipstaff.sandbox.folder import temporary_folder
from tipstaff.sandbox.tree import content_sha256

TESTS = Path(__file__).parents[1]
LAUNCHING = ("bubblewrap", "nsjail")
DAEMON = """
import os, signal, time
for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
    signal.signal(number, signal.SIG_IGN)
if os.fork() == 0:
    os.setsid()
    os.fork()
time.sleep(60)
"""


@contextmanager
def launched(backend: str, folder: Path, marker: str) -> Iterator[subprocess.Popen[bytes]]:
    """A process of its own that runs daemons inside; the marker is on all their command lines."""
    program = f"""
from dataclasses import replace
from pathlib import Path
from support.sandboxes import present, snippet, strict
spec = snippet({DAEMON!r}, Path({str(folder)!r}), strict())
present({backend!r}).run(replace(spec, argv=(*spec.argv, {marker!r})))
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
    """Whether the snippet itself runs: its interpreter has started on it, past the set-up."""
    return any(
        Path("/proc", str(pid), "cmdline").read_bytes().split(b"\0")[1:2] == [b"-I"]
        for pid in processes_with(f"/work/snippet.py\0{marker}")
    )


def groups_of(pid: int) -> list[Path]:
    """The control groups that a process has made and not taken away."""
    return [
        path for place in cgroup.places() for path in place.folder.glob(f"tipstaff-run-*-{pid}-*")
    ]


def temporary_folders_of(pid: int) -> list[Path]:
    """The temporary folders whose lock a process holds."""
    opened = []
    for descriptor in Path("/proc", str(pid), "fd").iterdir():
        with suppress(FileNotFoundError):
            opened.append(Path(os.readlink(descriptor)))
    return [path.parent for path in opened if path.parent.name.startswith("tipstaff-sandbox-")]


@pytest.mark.promise("X7", "row 103", "BR-27")
@pytest.mark.parametrize("backend", LAUNCHING)
@pytest.mark.parametrize("after_s", [None, 0, 0.002, 0.005, 0.01, 0.03])
def test_killing_the_launcher_leaves_no_process_behind(
    tmp_path: Path, backend: str, after_s: float | None
) -> None:
    kill_one(backend, tmp_path / "in", after_s)


@pytest.mark.nightly
@pytest.mark.promise("X7")
def test_two_hundred_kills_leave_nothing(tmp_path: Path) -> None:
    seed = int(os.environ.get("TIPSTAFF_SEED", "7"))
    print(f"seed {seed}")
    chance = random.Random(seed)
    for number in range(200):
        kill_one(LAUNCHING[number % 2], tmp_path / str(number), chance.uniform(0, 0.2))


def kill_one(backend: str, folder: Path, after_s: float | None) -> None:
    """Kill a launcher when its command is up, or so long after its sandbox program has started."""
    marker = f"tipstaff-launched-{os.getpid()}-{folder.name}"
    with launched(backend, folder, marker) as launcher:
        if after_s is None:
            assert comes_true(lambda: is_up(marker), within_s=60)
        else:
            assert comes_true(lambda: len(processes_with(marker)) >= 2, within_s=60)
            time.sleep(after_s)
        before = content_sha256(folder)
        temporary = temporary_folders_of(launcher.pid)
        launcher.kill()
        launcher.wait()
        assert comes_true(lambda: not processes_with(marker), within_s=5)
    assert content_sha256(folder) == before
    present(backend).run(snippet("print('next')", folder.with_name("next"), strict()))
    assert groups_of(launcher.pid) == []
    with temporary_folder():
        assert [path for path in temporary if path.exists()] == []
    assert str(folder) not in Path("/proc/self/mountinfo").read_text()


@pytest.mark.parametrize("backend", LAUNCHING)
def test_an_interrupt_ends_the_run_at_once(tmp_path: Path, backend: str) -> None:
    marker = f"tipstaff-interrupted-{os.getpid()}"
    with launched(backend, tmp_path / "in", marker) as launcher:
        assert comes_true(lambda: is_up(marker), within_s=60)
        launcher.send_signal(signal.SIGINT)
        assert launcher.wait(10) != 0
        assert comes_true(lambda: not processes_with(marker), within_s=2)


@pytest.mark.promise("X7")
@pytest.mark.parametrize("name", LAUNCHING)
def test_runs_in_parallel_leave_no_group_folder_mount_or_zombie(name: str, tmp_path: Path) -> None:
    backend = present(name)
    mounts = Path("/proc/self/mountinfo").read_text()

    def one(number: int) -> str:
        return run_inside(backend, f"print({number})", tmp_path / str(number)).stdout

    with ThreadPoolExecutor(6) as pool:
        assert list(pool.map(one, range(12))) == [f"{number}\n" for number in range(12)]
    assert groups_of(os.getpid()) == []
    assert Path("/proc/self/mountinfo").read_text() == mounts
    own = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
    assert [pid for pid in own if " Z " in Path(f"/proc/{pid}/stat").read_text()] == []


@pytest.mark.skipif(not cgroup.places(), reason="no control group can be made here")
def test_a_group_whose_maker_was_killed_goes_when_the_next_is_made(tmp_path: Path) -> None:
    program = """
import time
from tipstaff.sandbox import cgroup
from support.sandboxes import strict
with cgroup.group(strict().limits) as made:
    print("made", flush=True)
    time.sleep(60)
"""
    maker = subprocess.Popen(
        [sys.executable, "-c", program],
        env={**os.environ, "PYTHONPATH": str(TESTS)},
        stdout=subprocess.PIPE,
    )
    try:
        assert maker.stdout is not None
        assert maker.stdout.readline() == b"made\n"
        with cgroup.group(strict().limits):
            assert groups_of(maker.pid) != []
    finally:
        maker.kill()
        maker.communicate()
    with cgroup.group(strict().limits) as made:
        assert made is not None
        assert groups_of(maker.pid) == []


@pytest.mark.promise("X7")
def test_a_launcher_that_binds_nothing_to_its_end_is_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The fault that the kill tests are there for: a sandbox program that does not end with us."""
    monkeypatch.setattr(launch, "_bound_to", lambda parent: lambda: None)
    seen = subprocess.run(
        [sys.executable, "-c", _UNBOUND.format(folder=str(tmp_path / "in"))],
        env={**os.environ, "PYTHONPATH": str(TESTS)},
        capture_output=True,
        timeout=120,
        check=False,
    )
    left = [int(word) for word in seen.stdout.split()]
    try:
        assert left, seen.stderr
        assert all(Path("/proc", str(pid)).exists() for pid in left)
    finally:
        for pid in left:
            os.kill(pid, signal.SIGKILL)


_UNBOUND = """
import os, signal, threading
from pathlib import Path
from support.sandboxes import comes_true, present, snippet, strict
from tipstaff.sandbox import launch
backend = present("nsjail")
launch._bound_to = lambda parent: lambda: None
spec = snippet("import time; open('/scratch/up', 'w'); time.sleep(60)", Path({folder!r}), strict())
threading.Thread(target=backend.run, args=(spec,), daemon=True).start()
def programs():
    words = [Path(f"/proc/self/task/{{t}}/children").read_text() for t in os.listdir("/proc/self/task")]
    return " ".join(words).split()
def up():
    return [p for p in programs() for c in Path(f"/proc/{{p}}/task/{{p}}/children").read_text().split()
            if Path(f"/proc/{{c}}/root/scratch/up").exists()]
comes_true(lambda: bool(up()), within_s=60)
print(*up(), flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""
