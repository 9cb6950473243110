"""The layout of an nsjail run, as a pure function from the run's description to nsjail's configuration.

The same as bubblewrap's, in the text form of nsjail's protocol buffer. The root is a small tmpfs of nsjail's own,
read-only when the command starts. nsjail starts no process of its own inside, so a shell is the first one.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from tipstaff.sandbox import seccomp
from tipstaff.sandbox.backend import RunSpec
from tipstaff.sandbox.layout import BECOME, DEVICES, GATEKEEPER, TMPFS, environment, visible

_MIB = 1 << 20
_INNER_ID = "65534"
_SPARE_S = 10
_TERMINAL = "/dev/tty"
_LINKS = {
    "/dev/fd": "/proc/self/fd",
    "/dev/stdin": "/proc/self/fd/0",
    "/dev/stdout": "/proc/self/fd/1",
    "/dev/stderr": "/proc/self/fd/2",
}
# The trailing command keeps the shell from becoming the command itself: it stays as the first process.
_GATE = ("/bin/sh", "-c", f"read -r go || exit; ({BECOME}); exit $?", GATEKEEPER)
_FIXED = (
    "mode: ONCE",
    'hostname: "sandbox"',
    "log_level: WARNING",
    "nice_level: 0",
    "disable_rl: true",
    "iface_no_lo: true",
    "keep_env: false",
    "keep_caps: false",
    "disable_no_new_privs: false",
    "skip_setsid: false",
    *(f"clone_new{kind}: true" for kind in ("net", "user", "ns", "pid", "ipc", "uts", "cgroup")),
    f'uidmap {{ inside_id: "{_INNER_ID}" outside_id: "" count: 1 }}',
    f'gidmap {{ inside_id: "{_INNER_ID}" outside_id: "" count: 1 }}',
)


def command(spec: RunSpec) -> list[str]:
    """The end of nsjail's command line; the command starts once a line arrives on standard input."""
    return ["--", *_GATE, *spec.argv]


def config(
    spec: RunSpec,
    sources: Mapping[Path, Path] | None = None,
    *,
    machine: str | None = None,
    is_there: Callable[[str], bool] = os.path.exists,
) -> str:
    """nsjail's configuration for a run. ``sources`` says where else a host path is to be taken from.

    Raises ``SandboxError`` for a visible path that would cover the layout itself.
    """
    lines = [*_FIXED, f"time_limit: {spec.profile.limits.wall_s + _SPARE_S}"]
    lines.append(f"cwd: {_quoted(spec.work)}")
    lines += [f"envar: {_quoted(f'{k}={v}')}" for k, v in sorted(environment(spec).items())]
    lines += _mounts(spec, sources or {}, is_there)
    lines += [f"seccomp_string: {_quoted(line)}" for line in seccomp.kafel(machine).splitlines()]
    return "\n".join(lines) + "\n"


def _mounts(
    spec: RunSpec, sources: Mapping[Path, Path], is_there: Callable[[str], bool]
) -> Iterator[str]:
    for place in filter(is_there, spec.profile.system_paths):
        yield _bind(place, place)
    yield 'mount { dst: "/proc" fstype: "proc" rw: false nosuid: true nodev: true noexec: true }'
    for device in DEVICES:
        if device != _TERMINAL:
            yield _bind(device, device, writable=True)
    for place, target in _LINKS.items():
        yield f"mount {{ src: {_quoted(target)} dst: {_quoted(place)} is_symlink: true }}"
    limits = spec.profile.limits
    for place in TMPFS:
        options = f"size={limits.scratch_mb * _MIB},nr_inodes={limits.inodes},mode=755"
        how = f'fstype: "tmpfs" rw: true nosuid: true nodev: true options: "{options}"'
        yield f"mount {{ dst: {_quoted(place)} {how} }}"
    for path in visible(spec):
        yield _bind(str(sources.get(path, path)), str(path))
    yield _bind(str(sources.get(spec.workdir, spec.workdir)), spec.work)


def _bind(source: str, place: str, *, writable: bool = False) -> str:
    how = (
        f"is_bind: true rw: {str(writable).lower()} nosuid: true nodev: {str(not writable).lower()}"
    )
    return f"mount {{ src: {_quoted(source)} dst: {_quoted(place)} {how} }}"


def _quoted(text: str) -> str:
    """A string of a protocol buffer's text form: bytes, those that are not plain in octal."""
    plain = (
        chr(b) if 32 <= b < 127 and b not in b'"\\' else f"\\{b:03o}" for b in os.fsencode(text)
    )
    return f'"{"".join(plain)}"'
