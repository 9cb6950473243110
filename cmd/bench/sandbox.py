"""The speed of isolation: a run against the bare command of its backend, and warm runs against cold ones."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ratios import Promise, compare

from tipstaff.errors import SandboxError
from tipstaff.sandbox import identity, seccomp, toolchain
from tipstaff.sandbox.backend import RunSpec, SandboxBackend
from tipstaff.sandbox.gvisor import bundle as oci
from tipstaff.sandbox.gvisor import program as runsc_program
from tipstaff.sandbox.gvisor.backend import GvisorBackend
from tipstaff.sandbox.profile import load
from tipstaff.sandbox.selection import named
from tipstaff.sandbox.toolchain import Host
from tipstaff.sandbox.warm import repeat

_RUNS = 20
_REPEATED = 8


def measure() -> Iterator[Promise]:
    """Every promise about the sandbox; a backend that is not here is told and left out."""
    with _folder() as folder:
        spec = RunSpec(("/bin/true",), _made(folder / "input"), load("strict"), identity="bench")
        bubblewrap = named("bubblewrap", spec.profile)
        yield _against_bare("bubblewrap /bin/true", bubblewrap, spec, _bare_bubblewrap(spec), 1.3)
        yield from _gvisor(spec, folder)
        yield _warm(bubblewrap, _suite(_made(folder / "suite")))


def _gvisor(spec: RunSpec, folder: Path) -> Iterator[Promise]:
    try:
        named("gvisor", spec.profile)
    except SandboxError as error:
        print(f"gVisor is left out: {error.message}", file=sys.stderr)
        return
    program = _reachable(runsc_program.programs()[0], folder / "program")
    bare = _bare_gvisor(spec, _made(folder / "bundle"), program)
    backend = GvisorBackend(program, spec.profile)
    yield _against_bare("gVisor /bin/true", backend, spec, bare, 1.2)


def _against_bare(
    name: str, backend: SandboxBackend, spec: RunSpec, bare: Callable[[], object], limit: float
) -> Promise:
    def run() -> None:
        result, _ = backend.run(spec)
        if result.exit_code != 0:
            raise RuntimeError(result.stderr)

    ratios = compare(run, bare, times=_RUNS)
    return Promise(f"a run under {name} / the bare command", ratios, limit)


def _bare_bubblewrap(spec: RunSpec) -> Callable[[], object]:
    """The very arguments of the library, the filter and the report among them; the same gate, open from the start."""
    program, *arguments = named("bubblewrap", spec.profile).argv(spec)

    def start() -> None:
        theirs, ours = os.pipe()
        os.write(ours, seccomp.program())
        os.close(ours)
        report = os.memfd_create("report")
        fixed = ("--json-status-fd", str(report), "--seccomp", str(theirs))
        try:
            _start([program, *fixed, *arguments], spec.workdir, b"go\n", (report, theirs))
        finally:
            os.close(theirs)
            os.close(report)

    return start


def _bare_gvisor(spec: RunSpec, bundle: Path, program: Path) -> Callable[[], object]:
    """``runsc`` with the library's flags and configuration; what the library shows through bubblewrap, it binds itself.

    The command waits behind the same gate, open from the start.
    """
    config: dict[str, Any] = oci.config(spec)
    config["root"]["path"] = str(_made(bundle / "root"))
    for mount in config["mounts"]:
        if mount["type"] == "bind":
            mount["source"] = f"{bundle}{mount['source']}"
            Path(mount["source"]).mkdir(parents=True)
    for place in (*filter(os.path.exists, spec.profile.system_paths), spec.work):
        source = str(spec.workdir) if place == spec.work else place
        config["mounts"].append(
            {"type": "bind", "destination": place, "source": source, "options": ["ro"]}
        )
    (bundle / "config.json").write_text(json.dumps(config))
    if identity.is_real_root():
        identity.hand_over(bundle)
    flags = [flag for flag in oci.FLAGS if not flag.startswith("--root=")]
    own = ("--rootless", f"--root={bundle}/state")
    line = [str(program), *own, *flags, "run", f"--bundle={bundle}", "bare"]
    return lambda: _start(line, bundle, b"go\n")


def _reachable(program: Path, folder: Path) -> Path:
    """A copy that both sides can start as they are."""
    return Path(shutil.copy(program, _made(folder) / program.name))


def _start(line: list[str], folder: Path, given: bytes, passed: tuple[int, ...] = ()) -> None:
    """Run a command to its end as Python's own way is, which drops the uid in a copy of the process."""
    done = subprocess.run(
        line,
        input=given,
        capture_output=True,
        env={},
        cwd=folder,
        check=False,
        pass_fds=passed,
        **identity.dropped(),
    )
    if done.returncode != 0:
        raise RuntimeError(done.stderr.decode())


def _warm(backend: SandboxBackend, spec: RunSpec) -> Promise:
    warm = spec.profile.model_copy(update={"warm": True})
    shared = RunSpec(**{**vars(spec), "profile": warm})

    def together() -> None:
        outcomes = repeat(backend, shared, _REPEATED)
        if not all(result.warm and result.exit_code == 0 for result, _ in outcomes):
            raise RuntimeError(str(outcomes[0][0]))

    def one_by_one() -> None:
        repeat(backend, spec, _REPEATED)

    ratios = compare(together, one_by_one, times=1, rounds=3)
    return Promise("eight runs of a golden suite, warm / cold", ratios, 0.4)


def _suite(folder: Path) -> RunSpec:
    """A golden suite of ten small tests, under the pytest of this environment."""
    tests = "\n".join(f"def test_{n}():\n    assert sum(range({n})) >= 0" for n in range(10))
    (folder / "test_ten.py").write_text(tests)
    tools = toolchain.find(sys.executable, Host.current(folder))
    return RunSpec(
        (
            tools.program,
            "-m",
            "pytest",
            "-q",
            "-p",
            "no:cacheprovider",
            "--junitxml=/scratch/j.xml",
        ),
        folder,
        load("strict"),
        outputs=("/scratch/j.xml",),
        environment={"PYTHONDONTWRITEBYTECODE": "1"},
        readonly=tools.readonly,
        identity="bench",
    )


@contextmanager
def _folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o711)
        yield Path(name)


def _made(folder: Path) -> Path:
    folder.mkdir()
    return folder
