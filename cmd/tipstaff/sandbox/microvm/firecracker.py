"""Firecracker: a machine with KVM, configured over its API socket, in its own jail where we are root.

Without root it runs as this user, with Firecracker's own system call filter and no jail.
"""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from tipstaff.errors import SandboxError
from tipstaff.sandbox import identity
from tipstaff.sandbox.backend import RunSpec
from tipstaff.sandbox.microvm.api import CHANNEL_PORT, SOCKET, VSOCK, Api
from tipstaff.sandbox.microvm.base import MicrovmBackend
from tipstaff.sandbox.microvm.channel import Patience
from tipstaff.sandbox.microvm.machine import Machine, plan
from tipstaff.sandbox.microvm.started import Started, started

NAME = "firecracker"
INSTALL = "install firecracker and its jailer, on a machine whose /dev/kvm works"
KVM = Path("/dev/kvm")
_GROUPS = Path("/sys/fs/cgroup")
_API_S = 10.0
_OVERHEAD_MIB = 128
_MIB = 1 << 20
_ITS_OWN = ("--api-sock", SOCKET, "--level", "Error")
# Process 1 of the machine's namespaces is this shell: if it is killed, the kernel ends all in them.
_HELD = ("/bin/sh", "-c", '"$@"; exit $?', "tipstaff-machine")
_NAMESPACES = (
    *("unshare", "--pid", "--net", "--ipc", "--uts", "--mount-proc"),
    *("--fork", "--kill-child=KILL", "--"),
)


def programs() -> tuple[Path, ...]:
    """Firecracker, if it is on PATH."""
    found = shutil.which("firecracker")
    return () if found is None else (Path(found).absolute(),)


def can_start() -> bool:
    """Whether there is a firecracker, and a /dev/kvm that this user may open."""
    return bool(programs()) and os.access(KVM, os.R_OK | os.W_OK)


def jailer_arguments(
    jailer: Path, program: Path, base: Path, name: str, *, memory_mib: int, groups: int | None
) -> list[str]:
    """The jailer's command: new namespaces, a chroot below ``base``, uid 65534, limits of its own. Pure.

    ``groups`` is the version of the control groups that may be written here, None where none may.
    """
    limit = str((memory_mib + _OVERHEAD_MIB) * _MIB)
    memory = {None: (), 1: (f"memory.limit_in_bytes={limit}",), 2: (f"memory.max={limit}",)}
    line = [*_NAMESPACES, *_HELD, str(jailer), "--id", name, "--exec-file", str(program)]
    line += ("--uid", str(identity.NOBODY), "--gid", str(identity.NOBODY))
    line += ("--chroot-base-dir", str(base))
    line += ("--resource-limit", "no-file=256", "--resource-limit", f"fsize={_MIB}")
    for setting in memory[groups]:
        line += ("--cgroup-version", str(groups), "--cgroup", setting)
    return [*line, "--", *_ITS_OWN]


class Firecracker(MicrovmBackend):
    """Runs commands in machines of one Firecracker program."""

    name = NAME
    remedy = INSTALL
    patience = Patience(boot_s=15.0, grace_s=10.0)
    meeting_place = f"{VSOCK}_{CHANNEL_PORT}"

    def argv(self, spec: RunSpec) -> list[str]:
        """See ``SandboxBackend.argv``; the machine itself is configured by ``api.requests``."""
        return [str(self._program), *_ITS_OWN]

    def plan(self, spec: RunSpec) -> Machine:
        """See ``MicrovmBackend.plan``."""
        boot = ("reboot=k", "pci=off", "i8042.noaux", "i8042.nomux", "i8042.dumbkbd")
        return plan(spec, channel=f"vsock:{CHANNEL_PORT}", boot=boot)

    def check(self) -> None:
        """See ``MicrovmBackend.check``."""
        if not os.access(KVM, os.R_OK | os.W_OK):
            state = "may not be opened by this user" if KVM.exists() else "is missing"
            raise SandboxError(
                "sandbox.unavailable",
                f"{KVM} {state}, and firecracker needs it",
                fix="enable virtualisation, or add this user to the group kvm",
            )
        if identity.is_real_root() and _jailer(self._program) is None:
            raise SandboxError(
                "sandbox.unavailable",
                "there is no jailer beside firecracker, and as root it runs in none but its jail",
                fix="install the jailer of the same release, or run as an ordinary user",
            )

    def home(self, folder: Path) -> Path:
        """See ``MicrovmBackend.home``."""
        if not identity.is_real_root():
            return folder / "machine"
        return folder / "jail" / self._program.name / secrets.token_hex(8) / "root"

    @contextmanager
    def start(self, program: Path, machine: Machine, home: Path) -> Iterator[Started]:
        """See ``MicrovmBackend.start``."""
        jailer = _jailer(self._program) if identity.is_real_root() else None
        line: Sequence[str] = (str(program), *_ITS_OWN)
        if jailer is not None:
            line = jailer_arguments(
                jailer,
                program,
                home.parents[2],
                home.parent.name,
                memory_mib=machine.memory_mib,
                groups=_writable_groups(),
            )
        try:
            with started(line, home, dropped=jailer is None) as running:
                api = Api(home, wait_s=_API_S)
                try:
                    api.await_socket(running.has_ended)
                    api.configure(machine)
                except SandboxError as error:
                    raise SandboxError(
                        error.code,
                        f"{error.message} ({running.last_words() or 'it printed nothing'})",
                        fix=error.fix,
                    ) from error
                yield running
        finally:
            _remove_groups(home.parent.name)


def _jailer(program: Path) -> Path | None:
    beside = program.with_name("jailer")
    if beside.is_file():
        return beside
    found = shutil.which("jailer")
    return None if found is None else Path(found).absolute()


def _writable_groups() -> int | None:
    if (_GROUPS / "cgroup.controllers").is_file():
        words = (_GROUPS / "cgroup.controllers").read_text(encoding="ascii").split()
        return 2 if "memory" in words and os.access(_GROUPS / "cgroup.procs", os.W_OK) else None
    return 1 if os.access(_GROUPS / "memory", os.W_OK) else None


def _remove_groups(name: str) -> None:
    """The jailer makes a control group and leaves it; one that still has a process in it is not ours to remove."""
    for group in (*_GROUPS.glob(f"*/{name}"), *_GROUPS.glob(f"*/*/{name}")):
        with suppress(OSError):
            group.rmdir()
            group.parent.rmdir()
