"""Noting what a server tries: each system call that opens the network, or changes a file, is told by the kernel.

A filter of system calls on the server's first thread, which every process of it inherits, hands such calls to this
process and lets them go on: what becomes of them is the sandbox's to say, not ours. It needs a kernel that tells.
"""

import ctypes
import errno
import os
import platform
import select
import socket
import struct
import threading
from collections import Counter

LIBC = ctypes.CDLL(None, use_errno=True)
PR_SET_NO_NEW_PRIVS = 38
SET_FILTER, NEW_LISTENER = 1, 8
ALLOW, TELL = 0x7FFF0000, 0x7FC00000
RECEIVE, SEND, CONTINUE = 0xC0502100, 0xC0182101, 1
NOTICE, ANSWER = struct.Struct("=QII iIQ6Q"), struct.Struct("=QqiI")
LOAD, EQUAL, ANY_BIT, RETURN = 0x20, 0x15, 0x45, 0x06
NUMBER, ARCHITECTURE, ARGUMENTS = 0, 4, 16
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC
AT_FDCWD = -100
PATH_BYTES = 4096
PAGE = 4096
FREE = ("/scratch", "/tmp", "/dev", "/proc")


class Watcher:
    """What was tried, as ``(kind, call, what)`` with how often. ``works`` is whether the kernel tells."""

    def __init__(self, limits):
        self.calls = limits["calls"].get(platform.machine())
        self.room = limits["kept"]["attempts"]
        self.expected = set(limits["expected_sockets"])
        self.tried, self.left_out = Counter(), 0
        self.works, self._listener, self._thread = False, None, None

    def install(self):
        """Put the filter on this thread and what it starts; without one where the kernel tells nothing."""
        if self.calls is None:
            return
        program = assemble(self.calls)
        buffer = ctypes.create_string_buffer(program, len(program))
        fprog = struct.pack("HxxxxxxP", len(program) // 8, ctypes.addressof(buffer))
        LIBC.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
        number = ctypes.c_long(self.calls["seccomp"])
        found = LIBC.syscall(number, SET_FILTER, NEW_LISTENER, ctypes.c_char_p(fprog))
        if found < 0:
            return
        self._listener, self.works = found, True
        self._thread = threading.Thread(target=self._follow, daemon=True)
        self._thread.start()

    def close(self):
        """Stop, once every process of the server has ended."""
        if self._thread is not None:
            self._thread.join(1)
        if self._listener is not None:
            os.close(self._listener)
            self._listener = None

    def _follow(self):
        names = {
            number: (kind, name)
            for kind in KINDS
            for name, number in self.calls.get(kind, {}).items()
        }
        poll = select.poll()
        poll.register(self._listener, select.POLLIN)
        while True:
            ready = poll.poll()
            if not ready or ready[0][1] & (select.POLLHUP | select.POLLERR | select.POLLNVAL):
                return
            buffer = ctypes.create_string_buffer(NOTICE.size)
            if LIBC.ioctl(self._listener, ctypes.c_ulong(RECEIVE), buffer) != 0:
                if ctypes.get_errno() in (errno.ENOENT, errno.EINTR):
                    continue
                return
            notice, pid, _, number, _, _, *arguments = NOTICE.unpack(buffer.raw)
            kind, name = names.get(number, (None, None))
            try:
                seen = KINDS[kind](pid, name, arguments) if kind else None
                if seen is not None and seen[1] not in self.expected:
                    self._note((seen[0], name, seen[1]))
            except Exception:
                self._note(
                    ("write" if kind.startswith(("open", "path")) else "network", name, "unknown")
                )
            LIBC.ioctl(self._listener, ctypes.c_ulong(SEND), ANSWER.pack(notice, 0, 0, CONTINUE))

    def _note(self, what):
        if what in self.tried or len(self.tried) < self.room:
            self.tried[what] += 1
        else:
            self.left_out += 1


def start_watched(watcher, start):
    """The result of ``start``, called in a thread of its own that is under the filter."""
    results = []

    def run():
        try:
            watcher.install()
            results.append(start())
        except BaseException as error:
            results.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    [result] = results
    if isinstance(result, BaseException):
        raise result
    return result


def assemble(calls):
    """The filter: the listed calls are told, of opens only those that could write; all else goes on."""
    lines = [
        line(LOAD, ARCHITECTURE),
        line(EQUAL, calls["audit"], 1, 0),
        line(RETURN, ALLOW),
        line(LOAD, NUMBER),
    ]
    for name, number in calls["open"].items():
        place = ARGUMENTS + 8 * (1 if name == "open" else 2)
        body = [
            line(LOAD, place),
            line(ANY_BIT, WRITING, 0, 1),
            line(RETURN, TELL),
            line(RETURN, ALLOW),
        ]
        lines += [line(EQUAL, number, 0, len(body)), *body]
    for kind in ("address", "message", "open_how", "path", "path_at"):
        for number in calls[kind].values():
            lines += [line(EQUAL, number, 0, 1), line(RETURN, TELL)]
    return b"".join([*lines, line(RETURN, ALLOW)])


def line(code, value, if_true=0, if_false=0):
    """One instruction of classic BPF."""
    return struct.pack("<HBBI", code, if_true, if_false, value)


def memory(pid, address, most):
    """Up to that many bytes of a process, as far as they are there."""
    file = os.open(f"/proc/{pid}/mem", os.O_RDONLY)
    data = b""
    try:
        while len(data) < most:
            here = address + len(data)
            chunk = os.pread(file, min(most - len(data), PAGE - here % PAGE), here)
            data += chunk
            if not chunk or b"\0" in chunk:
                break
    except OSError:
        if not data:
            raise
    finally:
        os.close(file)
    return data


def exactly(pid, address, size):
    """Those bytes of a process."""
    file = os.open(f"/proc/{pid}/mem", os.O_RDONLY)
    try:
        return os.pread(file, size, address)
    finally:
        os.close(file)


def described(pid, address, size):
    """An address of a socket as kind and text; None for one within the sandbox's own folders."""
    if not address or size < 2:
        return None
    data = exactly(pid, address, min(size, 128))
    [family] = struct.unpack_from("=H", data)
    if family == socket.AF_UNIX:
        path = data[2:]
        if path[:1] == b"\0" or not path:
            return "socket", "@" + path[1:].decode("utf-8", "replace")
        text = path.split(b"\0")[0].decode("utf-8", "replace")
        return None if is_free(text) else ("socket", text)
    [port] = struct.unpack_from(">H", data, 2)
    if family == socket.AF_INET:
        return "network", f"{socket.inet_ntop(family, data[4:8])}:{port}"
    if family == socket.AF_INET6:
        return "network", f"[{socket.inet_ntop(family, data[8:24])}]:{port}"
    return "network", f"family {family}"


def by_address(pid, name, arguments):
    """What ``connect`` and ``sendto`` reach for."""
    place, size = (1, 2) if name == "connect" else (4, 5)
    return described(pid, arguments[place], arguments[size] & 0xFFFFFFFF)


def by_message(pid, name, arguments):
    """What the header of a message names."""
    place, size = struct.unpack("=QI", exactly(pid, arguments[1], 12))
    return described(pid, place, size)


def by_open(pid, name, arguments):
    """The path that an open would write to."""
    at, path = (AT_FDCWD, arguments[0]) if name == "open" else (arguments[0], arguments[1])
    return written(pid, at, path)


def by_open_how(pid, name, arguments):
    """The same, where the flags stand in memory."""
    [flags] = struct.unpack("=Q", exactly(pid, arguments[2], 8))
    return written(pid, arguments[0], arguments[1]) if flags & WRITING else None


def by_path(pid, name, arguments):
    """The path that a call would change; of those with two, the second, which is made."""
    return written(pid, AT_FDCWD, arguments[1 if name in ("rename", "symlink", "link") else 0])


def by_path_at(pid, name, arguments):
    """The same, for calls that name a folder."""
    if name == "symlinkat":
        return written(pid, arguments[1], arguments[2])
    place = 2 if name in ("renameat", "renameat2", "linkat") else 0
    return written(pid, arguments[place], arguments[place + 1])


def written(pid, at, address):
    """A path outside the writable folders, resolved as the process would; None for any other."""
    text = memory(pid, address, PATH_BYTES).split(b"\0")[0].decode("utf-8", "replace")
    folder = ""
    if not text.startswith("/"):
        at = struct.unpack("=i", struct.pack("=I", at & 0xFFFFFFFF))[0]
        folder = os.readlink(f"/proc/{pid}/cwd" if at == AT_FDCWD else f"/proc/{pid}/fd/{at}")
    path = os.path.normpath(os.path.join(folder, text))
    return None if is_free(path) else ("write", path)


def is_free(path):
    """Whether a path lies where the server may write, or in a folder that is the kernel's own."""
    return any(path == folder or path.startswith(f"{folder}/") for folder in FREE)


KINDS = {
    "address": by_address,
    "message": by_message,
    "open": by_open,
    "open_how": by_open_how,
    "path": by_path,
    "path_at": by_path_at,
}
