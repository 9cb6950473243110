"""Tries, from inside a sandbox, what a sandbox must refuse, and prints what happened as one JSON object.

It judges nothing: the process that started it compares these observations with what it sees from the host.
Arguments: a JSON object with the listener's TCP port, the name of an abstract unix socket, the path of a terminal,
numbers of system calls by name, the mount point of the input, and the home folders to look into. Runs on the standard
library alone.
"""

import ctypes
import errno
import fcntl
import json
import os
import socket
import sys
import termios

PATIENCE_S = 0.2
OUTSIDE = ("192.0.2.1", 9)  # reserved for documentation; connecting a UDP socket sends nothing
REFUSALS = {errno.EPERM, errno.EACCES, errno.ENOSYS, errno.EOPNOTSUPP}
NEW_USER = 0x10000000


def reaches(family, kind, address):
    """Whether a socket of that family connects to the address."""
    try:
        with socket.socket(family, kind) as connection:
            connection.settimeout(PATIENCE_S)
            connection.connect(address)
    except OSError:
        return False
    return True


def writes(folder):
    """Whether a file can be made in the folder."""
    path = os.path.join(folder, ".tipstaff-probe")
    try:
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL))
        os.unlink(path)
    except OSError:
        return False
    return True


def entries(folder):
    """What the folder shows, or None where it does not exist or shows nothing to us."""
    try:
        return sorted(os.listdir(folder))[:1000]
    except OSError:
        return None


def environment_of(process):
    """The environment block a process was started with, as text; None where it cannot be read."""
    try:
        with open(f"/proc/{process}/environ", "rb") as file:
            return file.read().decode("utf-8", "replace")
    except OSError:
        return None


def text_of(path):
    """What a short file says; None where it cannot be read."""
    try:
        with open(path) as file:
            return file.read(4096).strip()
    except OSError:
        return None


def descriptors():
    """The numbers open in this process, without the one that the look itself opens."""
    found = []
    for name in os.listdir("/proc/self/fd"):
        try:
            os.fstat(int(name))
        except OSError:
            continue
        found.append(int(name))
    return sorted(found)


def privileges():
    """The fields of our own status that tell of rights, by name."""
    wanted = {"Uid", "Gid", "NoNewPrivs", "CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"}
    lines = (line.partition(":") for line in (text_of("/proc/self/status") or "").splitlines())
    return {name: value.split()[-1] for name, _, value in lines if name in wanted and value.split()}


def opens(path, use):
    """Whether a terminal opens, and does what is asked of it."""
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK)
    except OSError:
        return False
    try:
        use(descriptor)
    except OSError:
        return False
    finally:
        os.close(descriptor)
    return True


def types(descriptor):
    """Put a character into a terminal's input; without a newline nothing runs there."""
    fcntl.ioctl(descriptor, termios.TIOCSTI, b" ")


def terminals(path):
    """What there is of terminals, by name: a controlling one, and any that takes input from us."""
    found = []
    if (text_of("/proc/self/stat") or "").rpartition(")")[2].split()[4:5] != ["0"]:
        found.append("a controlling terminal")
    found += [name for name in ("/dev/tty", path) if opens(name, lambda d: None)]
    for number in (0, 1, 2):
        if opens(f"/proc/self/fd/{number}", types):
            found.append(f"input of descriptor {number}")
    return found


def permitted(numbers):
    """The system calls that the kernel looked at, made in a child with arguments that do no harm."""
    first = {"keyctl": (0, -3, 0), "unshare": (NEW_USER,), "userfaultfd": (1,)}
    libc = ctypes.CDLL(None, use_errno=True)
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        found = []
        for name, number in numbers.items():
            ctypes.set_errno(0)
            words = [ctypes.c_long(word) for word in first.get(name, (0, 0, 0, 0, 0))]
            if (
                libc.syscall(ctypes.c_long(number), *words) != -1
                or ctypes.get_errno() not in REFUSALS
            ):
                found.append(name)
        os.write(writer, json.dumps(found).encode())
        os._exit(0)
    os.close(writer)
    with open(reader, "rb") as stream:
        answer = stream.read()
    os.waitpid(child, 0)
    return json.loads(answer)


def main(port, abstract, terminal, calls, work, homes):
    """Every observation, by name."""
    return {
        "reached": {
            "loopback": reaches(socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", port)),
            "outside": reaches(socket.AF_INET, socket.SOCK_DGRAM, OUTSIDE),
            "abstract": reaches(socket.AF_UNIX, socket.SOCK_STREAM, "\0" + abstract),
        },
        "written": [
            folder for folder in (work, "/", "/usr", "/etc", "/dev", *homes) if writes(folder)
        ],
        "scratch": writes("/scratch"),
        "homes": {home: entries(home) for home in homes},
        "environment": dict(os.environ),
        "first_environment": environment_of(1),
        "processes": [int(name) for name in os.listdir("/proc") if name.isdigit()],
        "descriptors": descriptors(),
        "privileges": privileges(),
        "terminals": terminals(terminal),
        "permitted": permitted(calls),
        "system": " ".join((os.uname().release, os.uname().version)),
        "boot": text_of("/proc/sys/kernel/random/boot_id"),
    }


if __name__ == "__main__":
    print(json.dumps(main(**json.loads(sys.argv[1]))))
