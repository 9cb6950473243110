"""The layout of a gVisor run, as pure functions from the run's description to an OCI config and to arguments.

An outer bubblewrap assembles what the guest is to see below ``/root``, which the guest gets read-only, and the sized
folders that it may write to. Nothing else of the host is visible even to gVisor's own processes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path, PurePosixPath
from typing import Any

from tipstaff.documents.sandbox import RunLimits
from tipstaff.sandbox import layout, seccomp
from tipstaff.sandbox.backend import SCRATCH, RunSpec

NAME = "run"
CONFIG = "/bundle/config.json"
CONTROL = f"/state/runsc-{NAME}.sock"
CGROUP = f"/{NAME}"
LOG = "/state/errors"
_MIB = 1 << 20
_ROOT = "/root"
_COVERED = "/covered"
_INNER_ID = 65534
# Where each folder that the guest may write to lies outside of it.
WRITABLE = {SCRATCH: SCRATCH, "/tmp": "/space/tmp", "/dev/shm": "/space/shm"}  # noqa: S108
_OUTER = (
    *("--unshare-user", "--unshare-all", "--die-with-parent", "--new-session"),
    *("--uid", str(_INNER_ID), "--gid", str(_INNER_ID), "--hostname", "sandbox"),
    # Over a user namespace of its own, which gVisor needs to lock itself in; the guest gets none of them.
    *("--cap-drop", "ALL", "--cap-add", "ALL"),
)
FLAGS = (
    "--root=/state",
    "--network=none",
    "--platform=systrap",
    "--ignore-cgroups",
    "--in-sandbox-cgroup=v2",
    "--overlay2=none",
    "--host-uds=none",
    "--host-fifo=none",
    "--net-raw=false",
    "--host-settings=ignore",
    "--oci-seccomp",
)


def arguments(spec: RunSpec, runsc: Path, sources: Mapping[Path, Path] | None = None) -> list[str]:
    """bubblewrap's arguments, with gVisor as its command. ``sources`` says where else a host path is taken from.

    gVisor reads its config from ``CONFIG``, and writes what it fails of to ``LOG``, out of the guest's reach.
    Raises ``SandboxError`` for a visible path that would cover the layout itself.
    """
    moved = sources or {}
    line = [*_OUTER, "--proc", "/proc", "--dev", "/dev"]
    for place in ("/state", "/tmp"):  # noqa: S108 (gVisor locks itself into the second)
        line += ("--dir", place)
    size = str(spec.profile.limits.scratch_mb * _MIB)
    for place in WRITABLE.values():
        line += ("--size", size, "--tmpfs", place)
    for place in spec.profile.system_paths:
        line += ("--ro-bind-try", place, _ROOT + place)
    for place in sorted({PurePosixPath(place).parts[1] for place in spec.profile.system_paths}):
        line += ("--symlink", f"{_ROOT}/{place}", f"/{place}")
    for path in layout.visible(spec):
        line += ("--ro-bind", str(moved.get(path, path)), _outside(path))
    line += ("--ro-bind", str(moved.get(spec.workdir, spec.workdir)), _ROOT + spec.work)
    line += ("--ro-bind", str(runsc), "/runsc", "--chdir", "/")
    return [*line, "--", "/runsc", *FLAGS, f"--log={LOG}", "run", "--bundle=/bundle", NAME]


def config(spec: RunSpec) -> dict[str, Any]:
    """The OCI configuration of the guest."""
    environment = layout.environment(spec)
    return {
        "ociVersion": "1.0.2",
        "root": {"path": _ROOT, "readonly": True},
        "hostname": "sandbox",
        "process": {
            "args": [*layout.GATE, *spec.argv],
            "cwd": spec.work,
            "env": [f"{name}={value}" for name, value in sorted(environment.items())],
            "user": {"uid": _INNER_ID, "gid": _INNER_ID},
            "capabilities": {},
            "noNewPrivileges": True,
            "terminal": False,
            "rlimits": _rlimits(spec.profile.limits),
        },
        "mounts": _mounts(layout.visible(spec)),
        "linux": {
            "seccomp": seccomp.oci(),
            # With a cgroup namespace, the call that sets the limit of processes crashes this version's kernel.
            "namespaces": [{"type": name} for name in ("pid", "ipc", "uts", "mount", "network")],
        },
    }


def _mounts(shown: Iterable[Path]) -> list[dict[str, Any]]:
    own: tuple[tuple[str, str, list[str]], ...] = (
        ("/proc", "proc", []),
        ("/sys/fs/cgroup", "cgroup", ["ro"]),
    )
    mounts = [
        {"destination": place, "type": kind, "source": kind, "options": options}
        for place, kind, options in own
    ]
    for inside, outside in WRITABLE.items():
        mounts.append(
            {
                "destination": inside,
                "type": "bind",
                "source": outside,
                "options": ["rw", "nosuid", "nodev"],
            }
        )
    for path in shown:
        if _is_covered(path):
            place = {"destination": str(path), "source": _outside(path), "type": "bind"}
            mounts.append({**place, "options": ["ro", "nosuid", "nodev"]})
    return mounts


def _outside(path: Path) -> str:
    """Where a visible path lies outside of the guest."""
    return f"{_COVERED if _is_covered(path) else _ROOT}{path}"


def _is_covered(path: Path) -> bool:
    """Whether a writable folder would hide the path, so that it takes a mount of its own."""
    return any(path.is_relative_to(folder) for folder in WRITABLE)


def _rlimits(limits: RunLimits) -> list[dict[str, Any]]:
    memory, size = limits.memory_mb * _MIB, limits.file_size_mb * _MIB
    wanted = {
        "RLIMIT_CPU": (limits.cpu_s, limits.cpu_s + 1),
        "RLIMIT_DATA": (memory, memory),
        "RLIMIT_NOFILE": (limits.open_files, limits.open_files),
        "RLIMIT_FSIZE": (size, size),
        "RLIMIT_CORE": (0, 0),
        "RLIMIT_MSGQUEUE": (0, 0),
    }
    return [{"type": name, "soft": soft, "hard": hard} for name, (soft, hard) in wanted.items()]
