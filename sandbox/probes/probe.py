"""Tries, from inside a sandbox, what a sandbox must refuse, and prints what happened as one JSON object.

It judges nothing: the process that started it compares these observations with what it sees from the host.
Arguments: the listener's TCP port, the name of an abstract unix socket, the mount point of the input,
then the home folders to look into. Runs on the standard library alone.
"""

import json
import os
import socket
import sys

PATIENCE_S = 0.2
OUTSIDE = ("192.0.2.1", 9)  # reserved for documentation; connecting a UDP socket sends nothing


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


def main(port, abstract, work, homes):
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
        "system": " ".join((os.uname().release, os.uname().version)),
        "boot": text_of("/proc/sys/kernel/random/boot_id"),
    }


if __name__ == "__main__":
    print(json.dumps(main(int(sys.argv[1]), sys.argv[2], sys.argv[3], sys.argv[4:])))
