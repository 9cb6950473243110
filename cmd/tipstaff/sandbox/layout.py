"""What a run sees under every backend: folders, devices, environment, and the gate that holds its command back."""

from __future__ import annotations

from pathlib import Path, PurePosixPath

from tipstaff.errors import SandboxError
from tipstaff.sandbox.backend import SCRATCH, RunSpec

_OURS = ("/proc", "/dev", SCRATCH)
TMPFS = ("/dev/shm", "/tmp", SCRATCH)  # noqa: S108 (folders of the sandbox's own)
DEVICES = tuple(f"/dev/{name}" for name in ("null", "zero", "full", "random", "urandom", "tty"))
GATEKEEPER = "tipstaff-gate"
READY = b"."
# Becomes the command. Where that cannot be, it says the line that let it go, which no command has ever seen; bash has
# to be told not to leave without a word.
BECOME = """shopt -s execfail 2> /dev/null; trap 'echo "$go" >&2' 0; exec "$@" < /dev/null"""
# The first process inside says that it is there, and becomes the command when a line arrives.
GATE = (
    "/bin/sh",
    "-c",
    f"printf {READY.decode()}; read -r go || exit; {BECOME}",
    GATEKEEPER,
)


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
