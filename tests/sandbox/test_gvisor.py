"""gVisor: what it is told, and what a run under it holds and leaves behind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from support.sandboxes import comes_true, present, run_inside, snippet, strict, tree_of
from tipstaff.errors import SandboxError
from tipstaff.sandbox import cgroup
from tipstaff.sandbox.backend import RunSpec
from tipstaff.sandbox.gvisor import backend as gvisor
from tipstaff.sandbox.gvisor import bundle, program
from tipstaff.sandbox.gvisor.backend import GvisorBackend
from tipstaff.sandbox.launch import Running

TESTS = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def backend() -> GvisorBackend:
    """gVisor as it is found here; where nobody expects it and it is absent, its tests are skipped."""
    found = present("gvisor")
    assert isinstance(found, GvisorBackend)
    return found


# What a run holds


@pytest.mark.req("S-03", "S-05")
@pytest.mark.promise("X10")
def test_the_probe_sees_gvisors_kernel_and_every_protection(backend: GvisorBackend) -> None:
    probe = backend.probe()
    assert (probe.available, probe.kernel, probe.unenforced) == (True, "gvisor", ()), probe
    assert set(strict().required_protections) <= set(probe.held)
    assert probe.version


@pytest.mark.req("S-04", "S-09")
@pytest.mark.promise("X6")
@pytest.mark.parametrize(
    "code",
    [
        "x = bytearray(b'1' * (300 << 20))",
        "import mmap\nfor _ in range(30):\n  x = mmap.mmap(-1, 10 << 20)\n  x.write(b'1' * len(x))\n"
        "  globals().setdefault('kept', []).append(x)",
    ],
    ids=["private", "shared"],
)
def test_memory_over_the_limit_is_killed_and_said(
    backend: GvisorBackend, tmp_path: Path, code: str
) -> None:
    code += "\nimport time; time.sleep(20); print('got it')"
    result = run_inside(backend, code, tmp_path / "in", memory_mb=160)
    assert (result.exit_code, result.oom, result.stdout) == (137, True, "")


@pytest.mark.req("S-09")
@pytest.mark.promise("X6")
def test_a_fork_bomb_is_capped_by_the_guests_kernel(backend: GvisorBackend, tmp_path: Path) -> None:
    code = """
import os, time
made = 0
try:
    while made < 200:
        if os.fork() == 0:
            time.sleep(30)
        made += 1
except BlockingIOError:
    pass
print(made)
"""
    assert 0 < int(run_inside(backend, code, tmp_path / "in").stdout) < 64


@pytest.mark.req("S-09", "S-10")
@pytest.mark.promise("X6")
@pytest.mark.parametrize(
    ("code", "limit", "seen"),
    [
        ("import time; time.sleep(90)", {"wall_s": 1}, {"timed_out": True, "exit_code": 124}),
        (
            "import os\ntry:\n  while True: os.open('/dev/null', 0)\n"
            "except OSError as error: print(error.errno)",
            {"open_files": 32},
            {"stdout": "24\n"},
        ),
        (
            "import signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
            "try: open('/scratch/f', 'wb').write(b'1' * (2 << 20))\n"
            "except OSError as error: print(error.errno)",
            {"file_size_mb": 1},
            {"stdout": "27\n"},
        ),
        (
            "try:\n  for n in range(9): open(f'/scratch/{n}', 'wb').write(b'1' * (1 << 20))\n"
            "except OSError as error: print(error.errno)",
            {"scratch_mb": 4},
            {"stdout": "28\n"},
        ),
        ("print('1' * 5000)", {"output_bytes": 1024}, {"stdout": "1" * 1024, "truncated": True}),
    ],
    ids=["wall", "open files", "file size", "scratch", "output"],
)
def test_a_limit_is_held(
    backend: GvisorBackend,
    tmp_path: Path,
    code: str,
    limit: dict[str, int],
    seen: dict[str, object],
) -> None:
    result = run_inside(backend, code, tmp_path / "in", **{"wall_s": 30} | limit)
    told = result.model_dump()
    assert {key: told[key] for key in seen} == seen, told


@pytest.mark.req("S-09")
@pytest.mark.promise("X6")
def test_cpu_time_is_held_by_the_guests_kernel_or_by_the_hosts_count(
    backend: GvisorBackend, tmp_path: Path
) -> None:
    result = run_inside(backend, "while True: pass", tmp_path / "in", cpu_s=1, wall_s=30)
    ends = {(128 + signal.SIGXCPU, None), (128 + signal.SIGKILL, "cpu_s")}
    assert (result.exit_code, result.limit) in ends, result


def test_new_namespaces_tracing_and_keys_are_refused(
    backend: GvisorBackend, tmp_path: Path
) -> None:
    code = """
import ctypes, json
libc = ctypes.CDLL(None, use_errno=True)
def call(*words):
    ctypes.set_errno(0)
    libc.syscall(*words)
    return ctypes.get_errno()
print(json.dumps([call(272, 1 << 28), call(56, 1 << 28 | 17, 0, 0, 0, 0), call(101, 0, 0, 0, 0),
    call(165, 0, 0, 0, 0, 0), call(250, 0, 0), call(425, 8, 0), call(435, 0, 0)]))
"""
    if os.uname().machine != "x86_64":
        pytest.skip("the numbers in this test are x86_64's")
    seen = json.loads(run_inside(backend, code, tmp_path / "in").stdout)
    assert seen == [1, 1, 1, 1, 1, 1, 38]


def test_outputs_come_back_and_links_do_not(backend: GvisorBackend, tmp_path: Path) -> None:
    code = (
        "import os\nopen('/scratch/real', 'w').write('kept')\n"
        "os.symlink('/etc/passwd', '/scratch/link')\nos.mkfifo('/scratch/pipe')"
    )
    outputs = ("/scratch/real", "/scratch/link", "/scratch/pipe", "/scratch/none")
    _, taken = backend.run(snippet(code, tmp_path / "in", strict(), outputs=outputs))
    assert taken == {"/scratch/real": b"kept"}


# Set-up failure is not the command's


@pytest.mark.parametrize("code", [0, 1, 2, 126, 127, 128, 137])
def test_a_commands_own_exit_code_is_kept(
    backend: GvisorBackend, tmp_path: Path, code: int
) -> None:
    assert run_inside(backend, f"raise SystemExit({code})", tmp_path / "in").exit_code == code


CLAIM = "import sys; sys.stderr.write('running container: x\\n'); sys.exit(128)"


def test_a_command_that_says_what_a_broken_gvisor_says_keeps_its_exit_code(
    backend: GvisorBackend, tmp_path: Path
) -> None:
    result = run_inside(backend, CLAIM, tmp_path / "in")
    assert (result.exit_code, result.stderr) == (128, "running container: x\n")


def test_what_gvisor_itself_fails_of_is_no_exit_code(
    backend: GvisorBackend, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is told by the file that only gVisor writes to, which the host fills here in its place."""
    backend.probe()
    release = gvisor._release

    def fill(running: Running) -> None:
        place = Path(f"/proc/{running.supervised.root_pid}/root{bundle.LOG}")
        place.write_text('{"msg":"waiting on container: EOF","level":"error"}')
        release(running)

    monkeypatch.setattr(gvisor, "_release", fill)
    with pytest.raises(SandboxError, match="waiting on container: EOF") as caught:
        run_inside(backend, "raise SystemExit(128)", tmp_path / "in")
    assert caught.value.code == "sandbox.setup"
    assert run_inside(backend, "raise SystemExit(3)", tmp_path / "in").exit_code == 3


def test_a_command_that_is_not_there_is_no_exit_code(
    backend: GvisorBackend, tmp_path: Path
) -> None:
    (tmp_path / "in").mkdir()
    with pytest.raises(SandboxError) as caught:
        backend.run(RunSpec(("/nowhere/at-all",), tmp_path / "in", strict()))
    assert caught.value.code == "sandbox.setup"


@pytest.mark.req("S-03", "S-06")
@pytest.mark.promise("X2", "BR-26")
@pytest.mark.parametrize(
    "script", ["exit 1", "exit 0", "printf .; exit 0", "printf .; read -r go; exit 0"]
)
def test_a_program_that_only_calls_itself_runsc_is_never_used(tmp_path: Path, script: str) -> None:
    tmp_path.chmod(0o755)
    fake = tmp_path / "runsc"
    fake.write_text(f"#!/bin/sh\n{script}\n")
    fake.chmod(0o755)
    backend = GvisorBackend(fake, strict())
    assert not backend.probe().available
    (tmp_path / "in").mkdir()
    with pytest.raises(SandboxError) as caught:
        backend.run(RunSpec(("/bin/true",), tmp_path / "in", strict()))
    assert caught.value.code == "sandbox.unavailable"


# What it leaves behind


@pytest.mark.promise("X7")
@pytest.mark.parametrize("delay_s", [0.0, 0.05, 0.15, 0.3, None])
def test_nothing_lives_on_after_tipstaff_was_killed(
    backend: GvisorBackend, tmp_path: Path, delay_s: float | None
) -> None:
    program = f"""
from pathlib import Path
from support.sandboxes import snippet, strict
from tipstaff.sandbox.gvisor import backend as gvisor
backend = gvisor.GvisorBackend(Path({backend.probe().program!r}), strict())
print(backend.probe().available, flush=True)
code = "import os, signal, time\\nsignal.signal(15, signal.SIG_IGN)\\nos.fork() or os.setsid()\\n"
code += "open('/scratch/up', 'w')\\ntime.sleep(60)"
backend.run(snippet(code, Path({str(tmp_path / "in")!r}), strict()))
"""
    path = os.pathsep.join((str(TESTS), os.environ.get("PYTHONPATH", "")))
    launcher = subprocess.Popen(
        [sys.executable, "-c", program],
        env={**os.environ, "PYTHONPATH": path},
        stdout=subprocess.PIPE,
    )
    try:
        assert launcher.stdout is not None
        assert launcher.stdout.readline() == b"True\n"
        if delay_s is None:
            assert comes_true(lambda: is_up(launcher.pid), within_s=30)
        else:
            time.sleep(delay_s)
        left = tree_of(launcher.pid) - {launcher.pid}
    finally:
        launcher.kill()
        launcher.communicate()
    assert comes_true(lambda: not alive(left), within_s=5), alive(left)


def is_up(launcher: int) -> bool:
    """Whether the command itself has started, seen in its scratch folder."""
    return any(Path(f"/proc/{pid}/root/scratch/up").exists() for pid in tree_of(launcher))


def alive(pids: set[int]) -> set[int]:
    """Those that run; a zombie does not."""
    found = set()
    for pid in pids:
        try:
            if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z":
                found.add(pid)
        except OSError:
            continue
    return found


@pytest.mark.promise("X7", "X10")
def test_runs_in_parallel_leave_no_process_mount_or_folder(
    backend: GvisorBackend, tmp_path: Path
) -> None:
    backend.probe()
    mounts = Path("/proc/self/mounts").read_text()

    def one(number: int) -> str:
        return run_inside(backend, f"print({number})", tmp_path / str(number)).stdout

    with ThreadPoolExecutor(6) as pool:
        assert list(pool.map(one, range(6))) == [f"{number}\n" for number in range(6)]
    assert tree_of(os.getpid()) == {os.getpid()}
    assert Path("/proc/self/mounts").read_text() == mounts


@pytest.mark.nightly
@pytest.mark.promise("X7")
@pytest.mark.parametrize(("name", "runs"), [("bubblewrap", 50), ("nsjail", 50), ("gvisor", 12)])
def test_many_runs_in_parallel_leave_nothing(
    name: str, runs: int, tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    chosen = present(name)
    mounts, folders = Path("/proc/self/mounts").read_text(), leftovers()

    def one(number: int) -> str:
        return run_inside(chosen, f"print({number})", tmp_path / str(number)).stdout

    with ThreadPoolExecutor(runs) as pool:
        assert list(pool.map(one, range(runs))) == [f"{number}\n" for number in range(runs)]
    assert tree_of(os.getpid()) == {os.getpid()}
    assert Path("/proc/self/mounts").read_text() == mounts
    assert leftovers() <= folders
    record_property("runs", runs)


def leftovers() -> set[str]:
    """Control groups that this process has made and not taken away."""
    mine = f"tipstaff-run-*-{os.getpid()}-*"
    return {str(group) for place in cgroup.places() for group in place.folder.glob(mine)}


def test_an_interrupt_ends_the_run(backend: GvisorBackend, tmp_path: Path) -> None:
    backend.probe()

    def interrupt() -> None:
        assert comes_true(lambda: is_up(os.getpid()), within_s=30)
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)

    code = "open('/scratch/up', 'w'); import time; time.sleep(60)"
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(interrupt)
        with pytest.raises(KeyboardInterrupt):
            run_inside(backend, code, tmp_path / "in")
        waiting.result()
    assert comes_true(lambda: tree_of(os.getpid()) == {os.getpid()}, within_s=5)


# Where the program comes from


def test_the_named_program_has_no_substitute(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("TIPSTAFF_RUNSC", str(tmp_path / "none"))
    assert gvisor.programs() == (tmp_path / "none",)
    assert not GvisorBackend(gvisor.programs()[0], strict()).probe().available


def test_a_run_never_builds_gvisor(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("TIPSTAFF_RUNSC", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    (tmp_path / "go").write_text("#!/bin/sh\ntouch built\n")
    (tmp_path / "go").chmod(0o755)
    assert gvisor.programs() == ()
    assert not (tmp_path / "built").exists()
    assert not program.managed_path().exists()
