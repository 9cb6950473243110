"""As whom a sandbox program starts, and how it sees paths that this identity could not reach.

Real root never starts one: the child becomes uid 65534 before it executes anything. What only root can reach
(a toolchain below a closed home) is bound to a reachable folder in a mount namespace that one thread of this
process enters; nothing of that is seen elsewhere, and it ends with the run.
"""

from __future__ import annotations

import ctypes
import os
import platform
import stat
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

from tipstaff.errors import SandboxError

NOBODY = 65534
_CLONE_NEWNS = 0x00020000
_MS_BIND = 0x1000
_MS_REC = 0x4000
_MS_SLAVE = 0x80000
_MNT_DETACH = 2
_PR_CAP_AMBIENT = 47
_PR_CAP_AMBIENT_CLEAR_ALL = 4
# setresuid, setresgid and setgroups
_CALLS = {"x86_64": (117, 119, 116), "aarch64": (147, 149, 159), "riscv64": (147, 149, 159)}


def is_real_root() -> bool:
    """Whether this process is uid 0, and not merely so inside a user namespace."""
    return os.geteuid() == 0 and not _has_mapped_root()


@cache
def _has_mapped_root() -> bool:
    try:
        ranges = [line.split() for line in Path("/proc/self/uid_map").read_text().splitlines()]
    except OSError:
        return False
    return any(inside == "0" and outside != "0" for inside, outside, _ in ranges)


def dropped() -> dict[str, Any]:
    """As whom a child is to start: real root starts nothing of a sandbox under its own name."""
    if not is_real_root():
        return {}
    return {"user": NOBODY, "group": NOBODY, "extra_groups": []}


def has_reached(path: Path) -> bool:
    """Whether uid 65534 can get to the path, as it is spelled and as it really lies, and read it."""
    try:
        real = path.resolve(strict=True)
        parents = {*path.parents, *real.parents}
        return all(_allows(p.stat(), stat.S_IXOTH) for p in parents) and _readable(real.stat())
    except (OSError, RuntimeError):
        return False


def hand_over(folder: Path) -> None:
    """Make a private folder and all in it uid 65534's, for nobody else to enter."""
    for _, folders, files, descriptor in os.fwalk(folder):
        for name in (*folders, *files):
            os.chown(name, NOBODY, NOBODY, dir_fd=descriptor, follow_symlinks=False)
    os.chown(folder, NOBODY, NOBODY)
    folder.chmod(0o700)


@contextmanager
def staged(hidden: Sequence[Path], folder: Path) -> Iterator[Mapping[Path, Path]]:
    """Where below ``folder`` uid 65534 finds each hidden path, during the context.

    Moves the calling thread into a mount namespace of its own, for good: call it in a thread made for it.
    """
    if hidden:
        _enter_namespace(hidden)
    found: dict[Path, Path] = {}
    try:
        for number, path in enumerate(hidden):
            found[path] = _bind(path, folder / str(number))
        yield found
    finally:
        for place in found.values():
            _libc().umount2(os.fsencode(place), _MNT_DETACH)


@contextmanager
def borrowed() -> Iterator[None]:
    """Let the calling thread act with 65534 as its real uid and gid; nothing changes unless it is real root.

    The kernel lets a process set another one's limits if that runs as its real user, and root may lack the
    capability that goes without. Only a direct system call changes one thread alone.
    """
    if not is_real_root():
        yield
        return
    set_user, set_group, _ = _numbers()
    try:
        _call(set_group, NOBODY, -1, -1)
        _call(set_user, NOBODY, -1, -1)
        yield
    finally:
        _call(set_user, 0, -1, -1)
        _call(set_group, 0, -1, -1)


@contextmanager
def shed() -> Iterator[None]:
    """Let what the calling thread executes meanwhile be uid 65534, for good; nothing changes unless it is real root.

    The thread itself comes back: its saved ids stay root's, and a program that is executed has none of them. So a
    child needs no copy of this process, as one that changes its own ids does. That one may not be traced by another
    process of that uid, since it keeps root's capabilities until it is the other program.
    """
    if not is_real_root():
        yield
        return
    set_user, set_group, set_groups = _numbers()
    groups = os.getgroups()
    try:
        _libc().prctl(_PR_CAP_AMBIENT, _PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0)
        _call(set_groups, 0, 0)
        _call(set_group, NOBODY, NOBODY, 0)
        _call(set_user, NOBODY, NOBODY, 0)
        yield
    finally:
        _call(set_user, 0, 0, 0)
        _call(set_group, 0, 0, 0)
        own = (ctypes.c_uint32 * len(groups))(*groups)
        _call(set_groups, len(groups), ctypes.addressof(own))


def _numbers() -> tuple[int, int, int]:
    numbers = _CALLS.get(platform.machine())
    if numbers is None:
        raise SandboxError(
            "sandbox.setup",
            f"root cannot act as uid {NOBODY} on {platform.machine()}",
            fix="run as an ordinary user",
        )
    return numbers


def _call(number: int, *given: int) -> None:
    if _libc().syscall(ctypes.c_long(number), *map(ctypes.c_long, given)) != 0:
        raise SandboxError(
            "sandbox.setup",
            f"root cannot act as uid {NOBODY}: {os.strerror(ctypes.get_errno())}",
            fix="allow changing to uid 65534 (CAP_SETUID, CAP_SETGID), or run as an ordinary user",
        )


def _enter_namespace(hidden: Sequence[Path]) -> None:
    libc = _libc()
    entered = libc.unshare(_CLONE_NEWNS) == 0
    if not entered or libc.mount(b"none", b"/", None, _MS_REC | _MS_SLAVE, None) != 0:
        raise SandboxError(
            "sandbox.unreachable",
            f"uid {NOBODY}, as which root runs a sandbox, cannot reach {hidden[0]}, and a mount that "
            f"would show it is refused: {os.strerror(ctypes.get_errno())}",
            fix="install it where everyone can read it, such as /opt, or run as an ordinary user",
        )


def _bind(path: Path, place: Path) -> Path:
    if path.is_dir():
        place.mkdir()
    else:
        place.touch()
    if _libc().mount(os.fsencode(path), os.fsencode(place), None, _MS_BIND, None) != 0:
        raise SandboxError(
            "sandbox.unreachable",
            f"{path} cannot be bound: {os.strerror(ctypes.get_errno())}",
            fix="install it where everyone can read it, such as /opt, or run as an ordinary user",
        )
    return place


@cache
def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _allows(status: os.stat_result, bit: int) -> bool:
    if status.st_uid == NOBODY:
        return bool(status.st_mode & bit << 6)
    return bool(status.st_mode & bit)


def _readable(status: os.stat_result) -> bool:
    needed = stat.S_IROTH | (stat.S_IXOTH if stat.S_ISDIR(status.st_mode) else 0)
    bits = status.st_mode >> 6 if status.st_uid == NOBODY else status.st_mode
    return bits & needed == needed
