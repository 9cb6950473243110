"""What the escape programs share: attempts that may be refused, and system calls by number."""

import ctypes
import errno
import os

LIBC = ctypes.CDLL(None, use_errno=True)
REFUSALS = {errno.EPERM, errno.EACCES, errno.ENOSYS, errno.EOPNOTSUPP, errno.EAFNOSUPPORT}


def succeeding(attempts):
    """The names of the attempts that raised nothing. ``attempts`` maps a name to a function."""
    done = []
    for name, attempt in attempts.items():
        try:
            attempt()
        except (OSError, MemoryError, ValueError):
            continue
        done.append(name)
    return done


def call(number, *arguments):
    """Make a system call; raises ``OSError`` if it fails, and where this machine has no number for it."""
    if number is None:
        raise OSError(errno.ENOSYS, "no number for this machine")
    ctypes.set_errno(0)
    passed = [ctypes.c_long(word) if isinstance(word, int) else word for word in arguments]
    answer = LIBC.syscall(ctypes.c_long(number), *passed)
    if answer == -1:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return answer


def permitted(number, *arguments):
    """Pass if the kernel looked at the call at all, even if it then disliked the arguments."""
    try:
        return call(number, *arguments)
    except OSError as error:
        if error.errno in REFUSALS:
            raise
        return -1


def write(path, data=b"escaped"):
    """Make or overwrite a file."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT, 0o644)
    try:
        os.write(descriptor, data)
    finally:
        os.close(descriptor)


def opens_for_writing(path):
    """Open an existing file for writing, and write nothing."""
    os.close(os.open(path, os.O_WRONLY | os.O_NOCTTY | os.O_NONBLOCK))


def read(path, size=4096):
    """The beginning of a file."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NOCTTY | os.O_NONBLOCK)
    try:
        return os.read(descriptor, size)
    finally:
        os.close(descriptor)


def say(at, data):
    """Put what was read into the report, where the host looks for its secrets."""
    at["said"].append(data.decode("utf-8", "replace") if isinstance(data, bytes) else str(data))


def outside(at, *names):
    """A path of the host: this case's own folder, or something in it."""
    return os.path.join(at["outside"], at["case"], *names)


def inside(at, *names):
    """A path of this case's own folder in the input, or something in it."""
    return os.path.join(at["work"], at["case"], *names)


def scratch(at, *names):
    """A path in this case's own folder of scratch, which is made."""
    folder = os.path.join(at["scratch"], at["case"])
    os.makedirs(folder, exist_ok=True)
    return os.path.join(folder, *names)
