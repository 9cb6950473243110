"""QEMU's ``microvm`` in software emulation: the machine that proves the guest where no KVM is.

It boots what Firecracker would: the same kernel, init, drives and job, with a virtio port for the vsock. It is slow,
its emulator is a far larger program than Firecracker, and it is no word of a configuration.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tipstaff.errors import SandboxError
from tipstaff.sandbox.backend import RunSpec
from tipstaff.sandbox.microvm.base import MicrovmBackend
from tipstaff.sandbox.microvm.channel import Patience
from tipstaff.sandbox.microvm.machine import INITRAMFS, KERNEL, Machine, plan
from tipstaff.sandbox.microvm.started import Started, started

NAME = "qemu-microvm"
INSTALL = "install qemu-system-x86, squashfs-tools and a cloud kernel"
PORT = "tipstaff"
_SOCKET = "channel"
_MEGAHERTZ = re.compile(r"^cpu MHz\s*: ([\d.]+)$", re.M)
_QUIET = ("-nodefaults", "-no-user-config", "-no-reboot", "-display", "none")
# An emulated processor speculates on nothing; half of the boot would go to these.
_BOOT_FASTER = ("mitigations=off", "nokaslr", "cryptomgr.notests")
_CONFINED = "on,obsolete=deny,elevateprivileges=deny,spawn=deny,resourcecontrol=deny"


def programs() -> tuple[Path, ...]:
    """QEMU for x86_64, if it is on PATH."""
    found = shutil.which("qemu-system-x86_64")
    return () if found is None else (Path(found).absolute(),)


def arguments(machine: Machine) -> list[str]:
    """What follows the program's name; the names in it are files of the machine's folder. No device is a network."""
    line = [
        *("-M", "microvm,x-option-roms=off,rtc=on"),
        *("-accel", "tcg", "-cpu", "max", "-smp", "1", "-m", str(machine.memory_mib)),
        *_QUIET,
        *("-sandbox", _CONFINED),
        *("-serial", "stdio"),
        *("-kernel", KERNEL, "-initrd", INITRAMFS, "-append", machine.boot_args),
        *("-chardev", f"socket,id=channel,path={_SOCKET}"),
        *("-device", "virtio-serial-device"),
        *("-device", f"virtserialport,chardev=channel,name={PORT}"),
    ]
    for name in machine.drives:
        line += ("-drive", f"id={name},file={name},format=raw,readonly=on,if=none")
        line += ("-device", f"virtio-blk-device,drive={name}")
    return line


class QemuMicrovm(MicrovmBackend):
    """Runs commands in machines that QEMU emulates."""

    name = NAME
    remedy = INSTALL
    patience = Patience(boot_s=180.0, grace_s=60.0)
    meeting_place = _SOCKET

    def argv(self, spec: RunSpec) -> list[str]:
        """See ``SandboxBackend.argv``."""
        return [str(self._program), *arguments(self.plan(spec))]

    def plan(self, spec: RunSpec) -> Machine:
        """See ``MicrovmBackend.plan``."""
        # Without KVM's clock and a timer of old the kernel has nothing to calibrate its own against.
        clock = ("reboot=t", "tsc=reliable", f"tsc_early_khz={_tsc_khz()}")
        return plan(spec, channel=f"port:{PORT}", boot=(*clock, *_BOOT_FASTER))

    def home(self, folder: Path) -> Path:
        """See ``MicrovmBackend.home``."""
        return folder / "machine"

    @contextmanager
    def start(self, program: Path, machine: Machine, home: Path) -> Iterator[Started]:
        """See ``MicrovmBackend.start``."""
        with started([str(program), *arguments(machine)], home) as running:
            yield running


def _tsc_khz() -> int:
    """What the host says of its processor's clock, which the emulator hands through."""
    match = _MEGAHERTZ.search(Path("/proc/cpuinfo").read_text(encoding="ascii", errors="replace"))
    if match is None:
        raise SandboxError(
            "sandbox.unavailable",
            "/proc/cpuinfo does not tell the processor's clock",
            fix="run on x86_64",
        )
    return round(float(match[1]) * 1000)
