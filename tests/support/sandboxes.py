"""Running Python snippets in a sandbox, for tests of what it holds."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tipstaff.documents.base import parse
from tipstaff.documents.sandbox import SandboxProfile, SandboxResult
from tipstaff.errors import SandboxError
from tipstaff.sandbox import cgroup
from tipstaff.sandbox.backend import RunSpec, SandboxBackend
from tipstaff.sandbox.gvisor import backend as gvisor
from tipstaff.sandbox.microvm.firecracker import can_start
from tipstaff.sandbox.profile import load
from tipstaff.sandbox.selection import KINDS, named
from tipstaff.sandbox.toolchain import own_python

_RUNSC = gvisor.programs()
# Firecracker alone may be absent: it needs a /dev/kvm that works. The report of a test run says so.
MAY_BE_ABSENT = {} if can_start() else {"firecracker": "no firecracker on PATH, or no /dev/kvm"}
BACKENDS = tuple(kind.name for kind in KINDS if kind.name not in MAY_BE_ABSENT)
_INSTALLED_WITH_US = {"bubblewrap", "nsjail"}
# Twenty processes, one after the other, that each stay far below a limit of theirs.
SPENDERS = """
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


def present(name: str, profile: SandboxProfile | None = None) -> SandboxBackend:
    """A backend by its word; one that is installed with Tipstaff, or expected in CI, has to be here."""
    try:
        with _found_by_the_session(name):
            return named(name, profile or strict())
    except SandboxError as error:
        if name in _INSTALLED_WITH_US or os.environ.get("CI"):
            pytest.fail(f"{name} has to work here: {error.message}")
        pytest.skip(f"{name} is not here: {error.message}")


@contextmanager
def _found_by_the_session(name: str) -> Iterator[None]:
    """The programs of the person who runs the tests; each test is another person, with an empty cache."""
    if name == gvisor.NAME and _RUNSC:
        with environment(TIPSTAFF_RUNSC=str(_RUNSC[0])):
            yield
    else:
        yield


def kills_are_counted() -> bool:
    """Whether this machine lets us make a control group, in which the kernel counts what it ends for memory."""
    return any("memory" in place.controllers for place in cgroup.places())


def hog(memory_mb: int) -> str:
    """Code that takes shared memory, 10 MiB after the other, and says so if nobody ends it."""
    return f"""
import mmap, time
blocks = []
for _ in range({memory_mb // 10}):
    block = mmap.mmap(-1, 10 << 20)
    for page in range(0, 10 << 20, 4096):
        block[page] = 1
    blocks.append(block)
time.sleep(5)
print('got it')
"""


def strict(**limits: int) -> SandboxProfile:
    """The strict profile with some limits changed."""
    profile = load("strict")
    changed = profile.limits.model_dump() | limits
    return parse(SandboxProfile, profile.model_dump() | {"limits": changed})


def snippet(
    code: str, workdir: Path, profile: SandboxProfile, *, outputs: tuple[str, ...] = ()
) -> RunSpec:
    """A run of a few lines of Python; the folder is made if need be."""
    workdir.mkdir(exist_ok=True)
    (workdir / "snippet.py").write_text(code)
    python = own_python()
    argv = (python.program, "-I", "-S", "-B", "/work/snippet.py")
    return RunSpec(argv, workdir, profile, outputs=outputs, readonly=python.readonly)


def run_inside(backend: SandboxBackend, code: str, workdir: Path, **limits: int) -> SandboxResult:
    """The result of a few lines of Python run inside."""
    return backend.run(snippet(code, workdir, strict(**limits)))[0]


def processes_with(marker: str) -> list[int]:
    """The processes of this host whose command line holds the marker."""
    found = []
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            line = Path("/proc", name, "cmdline").read_bytes()
        except OSError:
            continue
        if marker.encode() in line:
            found.append(int(name))
    return found


def comes_true(check: Callable[[], bool], *, within_s: float) -> bool:
    """Whether the check is true at some moment within that time."""
    end = time.monotonic() + within_s
    while time.monotonic() < end:
        if check():
            return True
        time.sleep(0.01)
    return check()


@contextmanager
def environment(**variables: str) -> Iterator[None]:
    """This process's environment with some variables added."""
    before = dict(os.environ)
    os.environ.update(variables)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def tree_of(pid: int) -> set[int]:
    """A process and all its descendants, zombies included."""
    found, waiting = {pid}, [pid]
    while waiting:
        folder = Path("/proc", str(waiting.pop()), "task")
        try:
            lists = [(task / "children").read_text() for task in folder.iterdir()]
        except OSError:
            continue
        new = {int(word) for text in lists for word in text.split()} - found
        found |= new
        waiting += new
    return found
