"""Terminals: text put into one is a command of its user."""

import fcntl
import glob
import os
import termios

from tools import succeeding, write


def _puts(descriptor):
    fcntl.ioctl(
        descriptor, termios.TIOCSTI, b" "
    )  # without a newline nothing runs, wherever it lands


def _opened(path, use):
    descriptor = os.open(path, os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK)
    try:
        use(descriptor)
    finally:
        os.close(descriptor)


def injected_input(at):
    """Text put into the input of each terminal in reach."""
    found = {f"descriptor {n}": lambda n=n: _puts(n) for n in (0, 1, 2)}
    for path in ("/dev/tty", at["trap"]):
        found[path] = lambda p=path: _opened(p, _puts)
    return succeeding(found)


def written(at):
    """Text written to terminals of the host."""
    write(at["trap"])


def controlling(at):
    """A controlling terminal, had or taken."""

    def has():
        with open("/proc/self/stat", encoding="utf-8") as file:
            if file.read().rpartition(")")[2].split()[4] == "0":
                raise OSError

    def takes(path):
        child = os.fork()
        if child == 0:
            try:
                os.setsid()
                _opened(path, lambda d: fcntl.ioctl(d, termios.TIOCSCTTY, 0))
            except OSError:
                os._exit(1)
            os._exit(0)
        if os.waitpid(child, 0)[1]:
            raise OSError

    others = ["/dev/console", "/dev/tty0", "/dev/tty1", *glob.glob("/dev/pts/[0-9]*")[:8]]
    found = {path: lambda p=path: _opened(p, lambda d: None) for path in ("/dev/tty", *others)}
    return succeeding({"has one": has, "takes one": lambda: takes(at["trap"]), **found})
