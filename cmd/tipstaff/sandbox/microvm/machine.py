"""The plan of a machine, as a pure function of a run: memory, drives, and the kernel's command line.

A machine is started in a folder that holds its files under fixed names, so a plan has no path of the host in it.
There is no network device in any of them.
"""

from __future__ import annotations

from dataclasses import dataclass

from tipstaff.sandbox import layout
from tipstaff.sandbox.backend import RunSpec

KERNEL = "kernel"
INITRAMFS = "initramfs"
_GUEST_MIB = 192  # the kernel, our init, and what it holds of the output
_WRITABLE_FOLDERS = 3


@dataclass(frozen=True)
class Machine:
    """One virtual CPU, memory in MiB, read-only drives by their file's name, words for the kernel."""

    memory_mib: int
    drives: tuple[str, ...]
    boot: tuple[str, ...]

    @property
    def boot_args(self) -> str:
        """The kernel's command line."""
        return " ".join(self.boot)


def plan(spec: RunSpec, *, channel: str, boot: tuple[str, ...] = ()) -> Machine:
    """The machine for a run. ``channel`` is the guest's word for where to meet us, ``boot`` the machine's own words."""
    limits = spec.profile.limits
    count = 2 + len(layout.visible(spec))
    words = ("console=ttyS0", "quiet", "panic=-1", *boot, f"tipstaff.channel={channel}")
    return Machine(
        limits.memory_mb + _WRITABLE_FOLDERS * limits.scratch_mb + _GUEST_MIB,
        tuple(f"drive{number}" for number in range(count)),
        words,
    )
