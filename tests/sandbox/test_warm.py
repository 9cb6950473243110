"""Repeated runs in one warm sandbox: what each has of its own, and that a broken one costs time and nothing else."""

from __future__ import annotations

import re
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from support.sandboxes import present, snippet, strict
from tipstaff import declared
from tipstaff.documents.sandbox import SandboxProfile
from tipstaff.sandbox import toolchain, warm
from tipstaff.sandbox.backend import RunSpec, SandboxBackend
from tipstaff.sandbox.toolchain import Host
from tipstaff.sandbox.warm import repeat

LEAK = """
import glob, os
left = [n for place in ("/scratch", "/tmp", "/dev/shm") for n in glob.glob(place + "/left*")]
print(left, len([n for n in os.listdir("/proc") if n.isdigit()]) < 4)
for place in ("/scratch", "/tmp", "/dev/shm"):
    os.makedirs(place + "/left/deep")
    open(place + "/left/deep/file", "w").close()
    os.chmod(place + "/left/deep", 0)
    os.chmod(place + "/left", 0)
"""


def warmly(**limits: int) -> SandboxProfile:
    """The strict profile, with warm runs allowed."""
    return strict(**limits).model_copy(update={"warm": True})


def outputs_of(backend: SandboxBackend, spec: RunSpec, times: int) -> list[tuple[bool, int, str]]:
    """Of each run whether it was warm, its exit code and what it printed."""
    return [(r.warm, r.exit_code, r.stdout) for r, _ in repeat(backend, spec, times)]


@pytest.fixture
def bubblewrap() -> SandboxBackend:
    """The backend that is everywhere."""
    return present("bubblewrap")


def test_a_run_sees_no_file_and_no_process_of_the_one_before(
    backend: SandboxBackend, tmp_path: Path
) -> None:
    code = f"{LEAK}\nif os.fork() == 0:\n  os.setsid()\n  import time\n  time.sleep(60)"
    seen = outputs_of(backend, snippet(code, tmp_path / "in", warmly()), 3)
    assert seen == [(True, 0, "[] True\n")] * 3


def test_a_warm_result_is_a_cold_one_that_says_so(backend: SandboxBackend, tmp_path: Path) -> None:
    code = (
        "import os, sys\nprint(sys.argv, sys.path[:1], sys.flags.isolated, os.getcwd(), sorted(os.environ))\n"
        "print('to stderr', file=sys.stderr)\nopen('/scratch/kept', 'w').write('x')\n"
        "os.symlink('/etc/passwd', '/scratch/link')\nsys.exit(3)"
    )
    outputs = ("/scratch/kept", "/scratch/link", "/scratch/none")
    spec = snippet(code, tmp_path / "in", strict(), outputs=outputs)
    [(cold, taken)] = repeat(backend, spec, 1)
    for result, files in repeat(backend, replace(spec, profile=warmly()), 2):
        assert (result.warm, files) == (True, taken)
        assert sorted(refused.path for refused in result.refused) == [
            "/scratch/link",
            "/scratch/none",
        ]
        changed = {"warm", "duration_ms", "started_at", "stdout", "refused", "spec_sha256", "oom"}
        assert result.model_dump(exclude=changed) == cold.model_dump(exclude=changed)
        assert result.stdout.replace("'LC_CTYPE', ", "").replace("'PWD', ", "").replace(
            ", 'PWD'", ""
        ) == cold.stdout.replace("'LC_CTYPE', ", "").replace("'PWD', ", "").replace(", 'PWD'", "")


def test_strict_runs_stay_cold(bubblewrap: SandboxBackend, tmp_path: Path) -> None:
    spec = snippet("print(1)", tmp_path / "in", strict())
    assert outputs_of(bubblewrap, spec, 2) == [(False, 0, "1\n")] * 2


@pytest.mark.req("S-09", "S-10")
@pytest.mark.parametrize(
    ("code", "limit", "exit_code"),
    [
        ("import time; time.sleep(60)", {"wall_s": 1}, 124),
        ("import os\nfor _ in range(3): os.fork()\nwhile True: pass", {"cpu_s": 1}, 137),
        ("import os; os.kill(os.getpid(), 11)", {}, 139),
        ("print('1' * 5000)", {"output_bytes": 1024}, 0),
    ],
    ids=["wall", "cpu of all", "signal", "output"],
)
def test_each_warm_run_has_the_limits_of_the_profile(
    bubblewrap: SandboxBackend, tmp_path: Path, code: str, limit: dict[str, int], exit_code: int
) -> None:
    outcomes = repeat(bubblewrap, snippet(code, tmp_path / "in", warmly(**limit)), 2)
    assert [(r.warm, r.exit_code) for r, _ in outcomes] == [(True, exit_code)] * 2
    assert [r.limits for r, _ in outcomes] == [warmly(**limit).limits] * 2
    assert all(len(r.stdout) <= 1024 for r, _ in outcomes)


ATTACKS = {
    "kill": "os.kill(os.getppid(), 9)",
    "stop": "os.kill(os.getppid(), 19)",
    "limits": "import resource; resource.prlimit(os.getppid(), resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))",
    "priority": "os.setpriority(os.PRIO_PROCESS, os.getppid(), 19)",
    "affinity": "os.sched_setaffinity(os.getppid(), {min(os.sched_getaffinity(0))})",
}


@pytest.mark.promise("BR-29")
@pytest.mark.parametrize("attack", ATTACKS)
def test_a_run_that_attacks_the_runner_gets_the_others_run_cold(
    bubblewrap: SandboxBackend, tmp_path: Path, attack: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(warm, "_SPARE_S", 1)
    code = f"import os\ntry:\n  {ATTACKS[attack]}\nexcept PermissionError: pass\nprint('done')"
    spec = snippet(code, tmp_path / "in", warmly(wall_s=1, cpu_s=1))
    seen = outputs_of(bubblewrap, spec, 2)
    assert len(seen) == 2
    # In a cold run the parent is bubblewrap's own first process.
    assert not any(is_warm for is_warm, _, _ in seen) or attack == "affinity"


@pytest.mark.parametrize(
    "attempt",
    [
        "open(f'/proc/{os.getppid()}/mem', 'r+b')",
        "os.open(f'/proc/{os.getppid()}/fd/1', os.O_WRONLY)",
        "os.listdir(f'/proc/{os.getppid()}/fd')",
        "open(f'/proc/{os.getppid()}/environ').read()",
        "os.write(3, b'x')",
    ],
)
def test_a_run_reaches_nothing_of_the_runner(
    bubblewrap: SandboxBackend, tmp_path: Path, attempt: str
) -> None:
    code = f"import os\ntry:\n  {attempt}\nexcept OSError:\n  print('refused')"
    spec = snippet(code, tmp_path / "in", warmly())
    assert outputs_of(bubblewrap, spec, 2) == [(True, 0, "refused\n")] * 2


def suite(folder: Path, profile: SandboxProfile, *first: str) -> RunSpec:
    """A golden suite of one test, run by the pytest of this environment."""
    folder.mkdir()
    (folder / "test_one.py").write_text(
        "def test_one(tmp_path):\n    assert not list(tmp_path.iterdir())\n"
    )
    tools = toolchain.find(sys.executable, Host.current(folder))
    argv = (*(first or (tools.program, "-m", "pytest")), "-q", "-p", "no:cacheprovider")
    variables = {"PYTHONDONTWRITEBYTECODE": "1", "PYTHONPATH": "/work"}
    readonly = (*tools.readonly,)
    return RunSpec(
        (*argv, "--junit-xml=/scratch/junit.xml"),
        folder,
        profile,
        outputs=("/scratch/junit.xml",),
        environment=variables,
        readonly=readonly,
    )


@pytest.mark.parametrize("first", [(), (str(Path(sys.executable).with_name("pytest")),)])
def test_a_golden_suite_passes_warm_as_it_does_cold(
    bubblewrap: SandboxBackend, tmp_path: Path, first: tuple[str, ...]
) -> None:
    for result, files in repeat(bubblewrap, suite(tmp_path / "in", warmly(), *first), 2):
        assert (result.warm, result.exit_code) == (True, 0), (result.stdout, result.stderr)
        assert b'tests="1"' in files["/scratch/junit.xml"]


def test_the_runner_loads_nothing_of_the_input(bubblewrap: SandboxBackend, tmp_path: Path) -> None:
    spec = suite(tmp_path / "in", warmly())
    for name in ("json", "base64", "sitecustomize", "usercustomize", "runpy", "pytest"):
        (tmp_path / "in" / f"{name}.py").write_text("import os; os._exit(9)")
    assert [(r.warm, r.exit_code) for r, _ in repeat(bubblewrap, spec, 2)] == [(True, 0)] * 2


@pytest.mark.parametrize(
    "argv", [("/bin/sh", "-c", "echo $HOME; exit 4"), ("/bin/sh", "-c", "exec nothing")]
)
def test_a_command_that_is_no_python_is_started_anew_each_time(
    bubblewrap: SandboxBackend, tmp_path: Path, argv: tuple[str, ...]
) -> None:
    spec = snippet("", tmp_path / "in", warmly())
    seen = outputs_of(bubblewrap, replace(spec, argv=argv), 2)
    assert seen in ([(True, 4, "/scratch\n")] * 2, [(True, 127, "")] * 2)


# Planted faults: each promise above goes red when the runner forgets what keeps it.


@pytest.mark.parametrize(
    ("sound", "faulty"),
    [
        ("        empty_folders(kept)\n", ""),
        ("    end_others()\n    stop =", "    stop ="),
    ],
    ids=["folders stay", "processes stay"],
)
def test_a_runner_that_leaves_something_is_found_out(
    bubblewrap: SandboxBackend,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    sound: str,
    faulty: str,
) -> None:
    code = f"{LEAK}\nif os.fork() == 0:\n  os.setsid()\n  import time\n  time.sleep(60)"
    spec = snippet(code, tmp_path / "in", warmly(wall_s=5))
    folder = tmp_path / "declared"
    (folder / "warm").mkdir(parents=True)
    source = (declared.folder("sandbox") / "warm/runner.py").read_text()
    assert sound in source
    (folder / "warm/runner.py").write_text(source.replace(sound, faulty, 1))
    real = declared.folder
    monkeypatch.setattr(
        warm.declared, "folder", lambda name: folder if name == "sandbox" else real(name)
    )
    seen = warm._warm(bubblewrap, spec, 2)
    assert [(r.exit_code, r.stdout) for r, _ in seen] != [(0, "[] True\n")] * 2


def test_the_runner_uses_the_standard_library_alone() -> None:
    source = (declared.folder("sandbox") / "warm/runner.py").read_text()
    assert not re.search(r"^\s*(from|import) (tipstaff|pytest)", source, re.M)
