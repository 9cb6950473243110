"""The layout of a bubblewrap run, as a pure function from the run's description to arguments.

The input is bound read-only and no mount point lies inside it: bubblewrap follows links while it makes mount
points, so one inside a tree that a candidate wrote could make folders on the host.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path, PurePosixPath

from tipstaff.errors import SandboxError
from tipstaff.sandbox.backend import SCRATCH, RunSpec

_MIB = 1 << 20
_INNER_ID = "65534"
_NAMESPACES = (
    "--unshare-user",  # --unshare-all alone goes on without a user namespace where there is none
    "--unshare-all",
    "--disable-userns",
    "--die-with-parent",
    "--new-session",
    *("--cap-drop", "ALL"),
    *("--uid", _INNER_ID, "--gid", _INNER_ID),
    *("--hostname", "sandbox"),
)
_OURS = ("/proc", "/dev", SCRATCH)
TMPFS = ("/dev/shm", "/tmp", SCRATCH)  # noqa: S108 (folders of the sandbox's own)
DEVICES = tuple(f"/dev/{name}" for name in ("null", "zero", "full", "random", "urandom", "tty"))
GATEKEEPER = "tipstaff-gate"
READY = b"."
# The first process inside says that it is there, and becomes the command when a line arrives.
GATE = (
    "/bin/sh",
    "-c",
    f'printf {READY.decode()}; read -r go || exit; exec "$@" < /dev/null',
    GATEKEEPER,
)


def arguments(spec: RunSpec, sources: Mapping[Path, Path] | None = None) -> list[str]:
    """bubblewrap's arguments, the command included. ``sources`` says where else a host path is to be taken from.

    Before anything else ``READY`` appears on standard output. The command starts once a line arrives on standard
    input, and never if that ends without one.
    Raises ``SandboxError`` for a visible path that would cover the layout itself.
    """
    moved = sources or {}
    limit = str(spec.profile.limits.scratch_mb * _MIB)
    line = [*_NAMESPACES]
    for place in spec.profile.system_paths:
        line += ("--ro-bind-try", place, place)
    line += ("--proc", "/proc", "--dev", "/dev")
    for place in TMPFS:
        line += ("--size", limit, "--tmpfs", place)
    for path in visible(spec):
        line += ("--ro-bind", str(moved.get(path, path)), str(path))
    line += ("--ro-bind", str(moved.get(spec.workdir, spec.workdir)), spec.work)
    line += ("--remount-ro", "/dev", "--remount-ro", "/")
    for name, value in sorted(environment(spec).items()):
        line += ("--setenv", name, value)
    return [*line, "--chdir", spec.work, "--", *GATE, *spec.argv]


def environment(spec: RunSpec) -> dict[str, str]:
    """The whole environment inside, apart from the ``PWD`` that bubblewrap sets."""
    return {**spec.profile.environment, **spec.environment}


def visible(spec: RunSpec) -> tuple[Path, ...]:
    """The extra host paths, outermost first, without those that are visible anyway."""
    system = [Path(path) for path in spec.profile.system_paths]
    wanted = sorted(set(spec.readonly), key=lambda path: (len(path.parts), path))
    chosen: list[Path] = []
    for path in wanted:
        _check(path, spec)
        if not any(_within(path, other) for other in (*system, *chosen)):
            chosen.append(path)
    return tuple(chosen)


def _check(path: Path, spec: RunSpec) -> None:
    covered = [spec.work, "/tmp", *_OURS]  # noqa: S108 (a folder of the sandbox's own)
    inside = [spec.work, *_OURS]
    absolute = path.is_absolute() and ".." not in path.parts
    if (
        not absolute
        or any(_within(Path(place), path) for place in covered)
        or any(_within(path, Path(place)) for place in inside)
    ):
        raise SandboxError(
            "sandbox.visible_path",
            f"{path} cannot be made visible: it would cover a part of the sandbox itself",
            fix="install the program or its interpreter in a folder of its own, such as /opt/<name>",
        )


def _within(path: Path, folder: Path) -> bool:
    return PurePosixPath(path).is_relative_to(folder)
