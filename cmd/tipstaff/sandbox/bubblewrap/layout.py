"""The layout of a bubblewrap run, as a pure function from the run's description to arguments.

The input is bound read-only and no mount point lies inside it: bubblewrap follows links while it makes mount
points, so one inside a tree that a candidate wrote could make folders on the host.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from tipstaff.sandbox.backend import RunSpec
from tipstaff.sandbox.layout import GATE, TMPFS, environment, visible

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
