"""The machines that can boot our guest here, and a guest that is played on the other end of a channel."""

from __future__ import annotations

import json
import os
import platform
import shutil
import socket
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from support.sandboxes import strict
from tipstaff.sandbox.microvm import firecracker, guest, qemu
from tipstaff.sandbox.microvm.base import MicrovmBackend
from tipstaff.sandbox.microvm.channel import Channel
from tipstaff.sandbox.microvm.firecracker import Firecracker
from tipstaff.sandbox.microvm.qemu import QemuMicrovm

_MADE: dict[str, MicrovmBackend] = {}


def missing() -> dict[str, str]:
    """The machines that cannot be tried here, each with what is missing; asked before any test changes HOME."""
    found = {}
    if guest.find_kernel() is None:
        found = dict.fromkeys((firecracker.NAME, qemu.NAME), "no kernel for a guest")
    if not firecracker.can_start():
        found[firecracker.NAME] = "no firecracker on PATH, or no /dev/kvm"
    for program in ("qemu-system-x86_64", "mksquashfs", "go"):
        if shutil.which(program) is None:
            found[qemu.NAME] = f"no {program} on PATH"
    return found


MISSING = missing()
MACHINES = tuple(name for name in (firecracker.NAME, qemu.NAME) if name not in MISSING)
if os.environ.get("CI") and platform.machine() == "x86_64" and qemu.NAME in MISSING:
    raise RuntimeError(f"CI boots the guest under qemu, and there is {MISSING[qemu.NAME]}")


def machine(name: str) -> MicrovmBackend:
    """One of ``MACHINES`` under strict; the same for a whole session, so that it is probed once."""
    if name not in _MADE:
        made = {firecracker.NAME: (Firecracker, firecracker), qemu.NAME: (QemuMicrovm, qemu)}
        kind, module = made[name]
        _MADE[name] = kind(module.programs()[0], strict())
    return _MADE[name]


def frame(value: Any) -> bytes:
    """A value as the guest would send it; bytes stay as they are."""
    body = value if isinstance(value, bytes) else json.dumps(value).encode()
    return struct.pack(">I", len(body)) + body


@contextmanager
def played(
    *answers: bytes, then: Callable[[socket.socket], None] | None = None
) -> Iterator[Channel]:
    """A channel to a guest that takes a job and then sends these bytes, and closes after ``then``."""
    ours, theirs = socket.socketpair()

    def play() -> None:
        with theirs:
            try:
                size = struct.unpack(">I", theirs.recv(4, socket.MSG_WAITALL))[0]
                theirs.recv(size, socket.MSG_WAITALL)
                for answer in answers:
                    theirs.sendall(answer)
                if then is not None:
                    then(theirs)
            except OSError:
                return

    player = threading.Thread(target=play)
    player.start()
    try:
        with ours:
            yield Channel(ours)
    finally:
        player.join()


def real_cache() -> Path:
    """The cache of the person who runs the tests; the same for all of them."""
    named = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(named) if named.startswith("/") else Path.home() / ".cache") / "tipstaff"


REAL_CACHE = real_cache()
