"""Secrets of the host, wherever one may show. What is found is printed; the host looks for its own."""

import glob
import os

from tools import outside, read, say, succeeding

SYSTEM = (
    "/etc/shadow /etc/gshadow /etc/sudoers /etc/ssh/ssh_host_ed25519_key /etc/machine-id /etc/hostname /etc/fstab "
    "/root/.bash_history /var/lib/cloud /var/run/secrets /run/secrets /var/lib/docker /proc/keys /etc/krb5.keytab"
).split()


def own_environment(at):
    """The variables of this process and the block that it was started with."""
    for name, value in os.environ.items():
        if "canary-" in value or "proxy" in name.lower():
            say(at, f"{name}={value}")
    succeeding({"block": lambda: say(at, _secrets("/proc/self/environ"))})


def environments(at):
    """The environment of every process in sight."""
    for name in glob.glob("/proc/[0-9]*/environ") + glob.glob("/proc/[0-9]*/task/*/environ"):
        succeeding({name: lambda n=name: say(at, _secrets(n))})


def _secrets(name):
    data = read(name, 1 << 16)
    position = data.find(b"canary-")
    return data[position : position + 200] if position >= 0 else b""


def home(at):
    """Keys and tokens of a home folder, by its path and by ways round it."""
    for way in ("", "/proc/self/root", "/proc/1/root", f"/proc/{at['parent']}/root"):
        for name in at["trap"]:
            path = way + outside(at, name)
            succeeding({path: lambda p=path: say(at, read(p))})


def system(at):
    """Files of the host that are for its administrator, or tell which host it is."""
    return succeeding({name: lambda n=name: _shows(n) for name in SYSTEM})


def _shows(name):
    if os.path.isdir(name):
        if not os.listdir(name):
            raise OSError
    elif not read(name):
        raise OSError


def arguments_of_the_backend(at):
    """Where the host keeps our input, told by mounts and command lines."""
    for name in ("/proc/self/cmdline", "/proc/1/cmdline", "/proc/self/environ", "/proc/1/environ"):
        succeeding({name: lambda n=name: say(at, read(n, 1 << 14))})
    return [name for name in glob.glob("/proc/[0-9]*/cmdline") if _names_the_host(at, name)]


def _names_the_host(at, name):
    try:
        return at["outside"].encode() in read(name, 1 << 14)
    except OSError:
        return False
