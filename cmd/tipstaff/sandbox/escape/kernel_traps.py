"""Secrets of the host that lie in the kernel: a key, shared memory, a message queue; and a terminal.

Each is there for as long as the stack it is given is open. Where this host's kernel has no such thing, nothing is laid.
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import secrets
import struct
import termios
from collections.abc import Callable
from contextlib import ExitStack, suppress
from typing import Any

from tipstaff.sandbox import seccomp

_SESSION_KEYRING = -3
_INVALIDATE = 21
_CREATE, _EVERYBODY = 0o1000, 0o666
_REMOVE = 0
_QUEUE_FLAGS = os.O_RDWR | os.O_CREAT | os.O_NONBLOCK


def keyring(canary: str, stack: ExitStack) -> str:
    """A key in the session's keyring, which children inherit. Returns its description."""
    name = f"tipstaff-escape-{secrets.token_hex(8)}"
    known, libc = seccomp.denied(), _libc()
    if "add_key" in known:
        payload = canary.encode()
        words = (b"user", name.encode(), payload, ctypes.c_size_t(len(payload)))
        key = libc.syscall(ctypes.c_long(known["add_key"]), *words, ctypes.c_long(_SESSION_KEYRING))
        if key > 0:
            number = ctypes.c_long(known["keyctl"])
            stack.callback(libc.syscall, number, ctypes.c_long(_INVALIDATE), ctypes.c_long(key))
    return name


def shared_memory(canary: str, stack: ExitStack) -> dict[str, int]:
    """A System V segment that everybody may read. Returns its key and number."""
    libc, key = _libc(), secrets.randbelow(1 << 30) + 1
    libc.shmat.restype = ctypes.c_void_p
    number = libc.shmget(key, 4096, _CREATE | _EVERYBODY)
    if number >= 0:
        stack.callback(libc.shmctl, number, _REMOVE, None)
        place = libc.shmat(number, None, 0)
        if place not in (None, ctypes.c_void_p(-1).value):
            ctypes.memmove(place, canary.encode() + b"\0", len(canary) + 1)
            libc.shmdt(ctypes.c_void_p(place))
    return {"key": key, "number": number}


def message_queue(canary: str, stack: ExitStack) -> str:
    """A POSIX queue that everybody may read, with the secret in it. Returns its name."""
    name = f"/tipstaff-escape-{secrets.token_hex(8)}"
    libc = _libc()
    with suppress(AttributeError):  # a C library that keeps queues apart
        queue = libc.mq_open(name.encode(), _QUEUE_FLAGS, _EVERYBODY, None)
        if queue >= 0:
            stack.callback(libc.mq_unlink, name.encode())
            stack.callback(os.close, queue)
            libc.mq_send(queue, canary.encode(), len(canary), 0)
    return name


def terminal(stack: ExitStack) -> tuple[str, Callable[[], bool]]:
    """A terminal that everybody may open. Returns its path, and whether anything was written or put into it."""
    ours, theirs = os.openpty()
    for descriptor in (ours, theirs):
        stack.callback(os.close, descriptor)
    os.set_blocking(ours, False)
    settings: list[Any] = termios.tcgetattr(theirs)
    settings[3] &= ~(termios.ICANON | termios.ECHO)
    termios.tcsetattr(theirs, termios.TCSANOW, settings)
    path = os.ttyname(theirs)
    os.chmod(path, _EVERYBODY)
    return path, lambda: _is_readable(ours) or _is_readable(theirs)


def _is_readable(descriptor: int) -> bool:
    waiting = fcntl.ioctl(descriptor, termios.FIONREAD, struct.pack("i", 0))
    return bool(struct.unpack("i", waiting)[0])


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)
