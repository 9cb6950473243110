"""Keeps one OPA: starts it, outlives whoever asked for it, stops it when nobody uses it, ends when it ends.

Run as a script with the runtime folder as its one argument; only the standard library is imported. The folder holds
``spec.json`` (``argv``, ``idle_s``) and gets ``alive`` (locked as long as this process lives), ``sidecar.json`` and
``opa.log``. ``ready`` marks a sidecar that answered; ``used`` is touched by its users.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import json
import os
import resource
import signal
import sys
import time
from pathlib import Path

_CLONE_NEWUSER = 0x10000000
_CLONE_NEWNET = 0x40000000
_PR_SET_PDEATHSIG = 1
_PR_CAPBSET_DROP = 24
_PR_SET_NO_NEW_PRIVS = 38
_LAST_CAPABILITY = 63
_SLOWEST_LOOK_S = 15.0
_SIGNALS = frozenset({signal.SIGCHLD, signal.SIGTERM, signal.SIGINT, signal.SIGHUP})
_LIBC = ctypes.CDLL(None, use_errno=True)


def main(folder: str) -> None:
    """Take the folder's lock, go to the background, keep OPA there until its end.

    The caller may wait for this process: when it has ended with 0, the lock is held.
    """
    os.chdir(folder)
    os.umask(0o077)
    alive = os.open("alive", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    fcntl.flock(alive, fcntl.LOCK_EX)
    if os.fork():
        os._exit(0)
    spec = json.loads(Path("spec.json").read_bytes())
    network = "own" if _leave_network() else "host"
    signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
    child = _start(spec["argv"])
    _write("sidecar.json", {"keeper": os.getpid(), "opa": child, "network": network})
    has_ended = _keep(child, float(spec["idle_s"]))
    Path("ready").unlink(missing_ok=True)
    if not has_ended:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


def _leave_network() -> bool:
    """Move into an empty network namespace; says whether the kernel really did it."""
    uid, gid = os.geteuid(), os.getegid()
    before = _network()
    if _LIBC.unshare(_CLONE_NEWNET) != 0 and _LIBC.unshare(_CLONE_NEWUSER | _CLONE_NEWNET) == 0:
        with contextlib.suppress(OSError):
            Path("/proc/self/setgroups").write_text("deny")
            Path("/proc/self/uid_map").write_text(f"{uid} {uid} 1")
            Path("/proc/self/gid_map").write_text(f"{gid} {gid} 1")
    return _network() not in ("", before)


def _network() -> str:
    try:
        return os.readlink("/proc/self/ns/net")
    except OSError:
        return ""


def _start(argv: list[str]) -> int:
    """Start OPA with no environment, no privileges and no descriptors of ours; it dies when this process dies."""
    keeper = os.getpid()
    child = os.fork()
    if child:
        return child
    try:
        _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        _LIBC.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
        for capability in range(_LAST_CAPABILITY + 1):
            _LIBC.prctl(_PR_CAPBSET_DROP, capability, 0, 0, 0)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        log = os.open("opa.log", os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
        os.dup2(log, 1)
        os.dup2(log, 2)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _SIGNALS)
        if os.getppid() == keeper:
            os.execve(argv[0], argv, {})  # noqa: S606  the keeper is its parent on purpose
    except OSError as error:
        os.write(2, f"{argv[0]}: {error.strerror}\n".encode())
    finally:
        os._exit(127)


def _keep(child: int, idle_s: float) -> bool:
    """Wait until OPA has ended (True), or must end (False): told to stop, unused, its folder gone."""
    look_s = min(max(idle_s / 4, 0.05), _SLOWEST_LOOK_S)
    last, since = _used(), time.monotonic()
    while True:
        got = signal.sigtimedwait(_SIGNALS, look_s)
        if os.waitpid(child, os.WNOHANG)[0]:
            return True
        if got and got.si_signo in (signal.SIGTERM, signal.SIGINT):
            return False
        if not (now := _used()):
            return False
        if now != last:
            last, since = now, time.monotonic()
        elif time.monotonic() - since > idle_s and _retire(last):
            return False


def _retire(last: int) -> bool:
    """Take the mark away first, then look again: who touched ``used`` before finds the mark back or not at all."""
    ready = Path("ready")
    was_ready = ready.exists()
    ready.unlink(missing_ok=True)
    if _used() == last:
        return True
    if was_ready:
        ready.touch()
    return False


def _used() -> int:
    """When the sidecar was last used, in nanoseconds; 0 when the folder is gone."""
    try:
        return os.stat("used").st_mtime_ns
    except OSError:
        return 0


def _write(name: str, value: dict[str, object]) -> None:
    Path(f".{name}").write_text(json.dumps(value))
    os.replace(f".{name}", name)


if __name__ == "__main__":
    main(sys.argv[1])
