"""The host's side of a probe: lays the traps, runs the probe inside, and compares what both sides saw."""

from __future__ import annotations

import json
import os
import pwd
import secrets
import socket
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from tipstaff import declared
from tipstaff.documents.base import Contract, parse
from tipstaff.documents.sandbox import Kernel, SandboxProfile
from tipstaff.documents.strict_json import loads
from tipstaff.documents.text import visible
from tipstaff.errors import ContractError, SandboxError
from tipstaff.sandbox import layout, seccomp
from tipstaff.sandbox.backend import PROTECTIONS, RunSpec
from tipstaff.sandbox.escape import kernel_traps
from tipstaff.sandbox.folder import temporary_folder
from tipstaff.sandbox.process import Ended
from tipstaff.sandbox.toolchain import own_python

# Names that a mount point made inside the input would have to pass through.
_TRAPS = ("scratch", "tmp", "proc", "dev", "usr", "work")
_FIRST_PROCESSES = 16  # threads of the first one take numbers too
_CALLS = (
    "bpf",
    "io_uring_setup",
    "keyctl",
    "mount",
    "perf_event_open",
    "ptrace",
    "unshare",
    "userfaultfd",
)
_CAPABILITIES = ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")
_VARIABLES_OF_THE_BACKEND = {"PWD"}


class Report(Contract):
    """What ``sandbox/probes/probe.py`` prints."""

    reached: dict[str, bool]
    written: list[str]
    scratch: bool
    homes: dict[str, list[str] | None]
    environment: dict[str, str]
    first_environment: str | None
    processes: list[int]
    descriptors: list[int]
    privileges: dict[str, str]
    terminals: list[str]
    permitted: list[str]
    system: str
    boot: str | None


@dataclass(frozen=True)
class Observation:
    """The protections that held, for each that did not what was seen instead, and whose system calls it reached."""

    held: tuple[str, ...]
    complaints: dict[str, str]
    kernel: Kernel


def homes() -> tuple[Path, ...]:
    """The invoking user's home folders: the account's own and the environment's."""
    found = [os.environ.get("HOME", "")]
    try:
        found.append(pwd.getpwuid(os.getuid()).pw_dir)
    except KeyError:
        pass
    paths = {Path(name) for name in found if name.startswith("/")} - {Path("/")}
    return tuple(sorted(paths))


def observe(profile: SandboxProfile, run: Callable[[RunSpec], tuple[int, Ended]]) -> Observation:
    """Probe through ``run``; raises ``SandboxError`` if the probe did not run to its end."""
    with ExitStack() as stack:
        folder = stack.enter_context(temporary_folder())
        work, outside = _prepare(folder)
        loopback = stack.enter_context(_listener(socket.AF_INET, ("127.0.0.1", 0)))
        name = f"tipstaff-probe-{secrets.token_hex(8)}"
        abstract = stack.enter_context(_listener(socket.AF_UNIX, f"\0{name}"))
        terminal, was_written = kernel_traps.terminal(stack)
        traps = {"port": loopback.getsockname()[1], "abstract": name, "terminal": terminal}
        spec = _spec(profile, work, traps)
        before = _inventory(folder)
        exit_code, ended = run(spec)
        touched = _inventory(folder) != before or any(outside.iterdir())
        called = [
            kind for kind, trap in (("tcp", loopback), ("abstract", abstract)) if _called(trap)
        ]
        typed = was_written()
    report = _parse(exit_code, ended)
    complaints = _judge(report, spec)
    if called:
        complaints["network"] = f"the host's listener was reached: {', '.join(called)}"
    if touched:
        complaints["write"] = "a folder of the host changed"
    if typed:
        complaints["terminal"] = "a terminal of the host was written to"
    held = tuple(name for name in PROTECTIONS if name not in complaints)
    return Observation(held, complaints, _kernel(report))


def _prepare(folder: Path) -> tuple[Path, Path]:
    work, outside = folder / "input", folder / "outside"
    work.mkdir()
    outside.mkdir(mode=0o700)
    (work / "probe.py").write_bytes((declared.folder("sandbox") / "probes/probe.py").read_bytes())
    for name in _TRAPS:
        (work / name).symlink_to(f"/oldroot{outside}" if name == "usr" else outside)
    return work, outside


def _spec(profile: SandboxProfile, work: Path, traps: Mapping[str, int | str]) -> RunSpec:
    python = own_python()
    spec = RunSpec((), work, profile, readonly=python.readonly)
    known = seccomp.denied()
    told = {
        **traps,
        "calls": {name: known[name] for name in _CALLS},
        "work": spec.work,
        "homes": [str(home) for home in homes()],
    }
    line = (python.program, "-I", "-S", "-B", f"{spec.work}/probe.py", json.dumps(told))
    return RunSpec(line, work, profile, readonly=python.readonly)


def _parse(exit_code: int, ended: Ended) -> Report:
    words = ended.stderr.decode("utf-8", "replace").strip()[-300:] or "no complaint"
    try:
        if exit_code == 0:
            return parse(Report, loads(ended.stdout))
    except ContractError as error:
        words = f"its report is not one: {error.message}"
    raise SandboxError(
        "sandbox.probe",
        f"the probe inside ended with {exit_code}: {visible(words)}",
        fix=f"make sure that {sys.executable} is a complete Python that everyone can read",
    )


def _judge(seen: Report, spec: RunSpec) -> dict[str, str]:
    found = {
        "network": [kind for kind, reached in seen.reached.items() if reached],
        "write": [*seen.written, *([] if seen.scratch else ["/scratch is not writable"])],
        "home": sorted(_strangers(seen.homes, spec)),
        "environment": sorted(_foreign(seen, spec)),
        "processes": [str(pid) for pid in seen.processes if pid > _FIRST_PROCESSES],
        "descriptors": [str(number) for number in seen.descriptors if number > 2],
        "privileges": sorted(_rights(seen)),
        "terminal": seen.terminals,
        "system_calls": seen.permitted if _kernel(seen) == "host" else [],
    }
    return {name: visible(", ".join(items[:5])) for name, items in found.items() if items}


def _kernel(seen: Report) -> Kernel:
    """Whose kernel answered: this host's is known by its boot, and gVisor names itself.

    One that does not tell its boot, or on a host that does not, is taken for the host's.
    """
    ours = _boot()
    if seen.boot is None or ours is None or seen.boot == ours:
        return "host"
    return "gvisor" if "gvisor" in seen.system.lower() else "guest"


def _rights(seen: Report) -> Iterator[str]:
    """The rights that a process had, and those that nothing showed to be absent.

    Without capabilities, the host's root could not even enter the input, which its owner alone may.
    """
    for name in _CAPABILITIES:
        value = seen.privileges.get(name, "unknown")
        if value.strip("0"):
            yield f"{name} {value}"
    if seen.privileges.get("NoNewPrivs") != "1":
        yield "new privileges are allowed"
    if seen.privileges.get("Uid", "0") == "0":
        yield "it is root inside"


def _boot() -> str | None:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        return None


def _strangers(seen: dict[str, list[str] | None], spec: RunSpec) -> Iterator[str]:
    """What shows of a home folder and does not lead to a path that the run needs."""
    needed = [*spec.readonly, *(Path(path) for path in spec.profile.system_paths)]
    for home, names in seen.items():
        for name in names or ():
            entry = Path(home, name)
            if not any(path.is_relative_to(entry) or entry.is_relative_to(path) for path in needed):
                yield str(entry)


def _foreign(seen: Report, spec: RunSpec) -> Iterator[str]:
    ours = layout.environment(spec)
    first = [word for word in (seen.first_environment or "").split("\0") if word]
    found = [*seen.environment.items(), *(word.partition("=")[::2] for word in first)]
    for name, value in found:
        if name not in _VARIABLES_OF_THE_BACKEND and ours.get(name) != value:
            yield name


def _inventory(folder: Path) -> list[tuple[str, int, int]]:
    """Every name below the folder, with its mode's kind and its number of links."""
    return sorted(
        (str(path), path.lstat().st_ino, path.lstat().st_nlink) for path in folder.rglob("*")
    )


@contextmanager
def _listener(family: int, address: tuple[str, int] | str) -> Iterator[socket.socket]:
    with socket.socket(family, socket.SOCK_STREAM) as trap:
        trap.bind(address)
        trap.listen()
        trap.setblocking(False)
        yield trap


def _called(trap: socket.socket) -> bool:
    try:
        trap.accept()[0].close()
    except OSError:
        return False
    return True
