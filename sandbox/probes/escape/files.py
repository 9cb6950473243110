"""Writes to what is not ours, by every name that it may have. The host compares its folders afterwards."""

import ctypes
import os
import shutil
import stat

from tools import (
    LIBC,
    call,
    inside,
    opens_for_writing,
    outside,
    read,
    say,
    scratch,
    succeeding,
    write,
)

SYSTEM = (
    "/",
    "/usr",
    "/usr/bin",
    "/etc",
    "/bin",
    "/lib",
    "/dev",
    "/var",
    "/opt",
    "/boot",
    "/run",
    "/sys",
    "/proc",
)
KERNEL_FILES = (
    "/proc/sys/kernel/core_pattern",
    "/proc/sys/kernel/modprobe",
    "/proc/sys/kernel/randomize_va_space",
    "/proc/sys/kernel/domainname",
    "/proc/sys/fs/binfmt_misc/register",
    "/proc/sys/fs/suid_dumpable",
    "/proc/sys/vm/drop_caches",
    "/proc/sys/vm/overcommit_memory",
    "/proc/sys/net/ipv4/ip_forward",
    "/proc/acpi/wakeup",
    "/proc/irq/default_smp_affinity",
    "/proc/bus/pci/devices",
    "/sys/kernel/uevent_helper",
    "/sys/kernel/mm/transparent_hugepage/enabled",
    "/sys/power/state",
    "/sys/module/apparmor/parameters/mode",
)
DEVICES = (
    "mem kmem port kvm fuse loop-control loop0 sda vda nvme0n1 dm-0 mapper/control net/tun vhost-net vsock "
    "vhost-vsock uinput autofs btrfs-control cpu_dma_latency hpet rtc0 userfaultfd"
).split()


def write_input(at):
    """Every change of the input, which the host compares."""
    name = inside(at, "judge.txt")
    return succeeding(
        {
            "write": lambda: write(name),
            "append": lambda: os.close(os.open(name, os.O_WRONLY | os.O_APPEND)),
            "truncate": lambda: os.truncate(name, 0),
            "new file": lambda: write(inside(at, "new")),
            "new folder": lambda: os.mkdir(inside(at, "folder")),
            "new link": lambda: os.symlink("judge.txt", inside(at, "link")),
            "rename": lambda: os.rename(name, inside(at, "renamed")),
            "mode": lambda: os.chmod(name, 0o777),
            "times": lambda: os.utime(name, (0, 0)),
            "attribute": lambda: os.setxattr(name, "user.x", b"x"),
            "remove": lambda: os.unlink(name),
        }
    )


def by_path(at):
    """The host's folder under its own name, which is not there unless it leaked; it may be made, but not there."""
    os.makedirs(outside(at), exist_ok=True)
    write(outside(at, "written"))


def by_proc_root(at):
    """The same folder through the root of processes that may see more."""
    roots = ("/proc/self/root", "/proc/1/root", "/proc/2/root", f"/proc/{at['parent']}/root")
    return succeeding({root: lambda r=root: write(r + outside(at, "written")) for root in roots})


def by_working_folder(at):
    """The same folder upwards from where processes stand, and from what they hold open."""
    up = "../" * 20
    starts = (
        ".",
        "/proc/1/cwd",
        "/proc/self/cwd",
        "/proc/self/fd/0",
        "/proc/self/fd/1",
        "/proc/1/fd/0",
        at["work"],
    )
    target = outside(at, "written").lstrip("/")
    for start in starts:
        succeeding({start: lambda s=start: write(os.path.join(s, up + target))})


def by_symlink(at):
    """A link in scratch that leads to the host."""
    os.symlink(outside(at, "written"), scratch(at, "link"))
    write(scratch(at, "link"))


def by_hard_link(at):
    """A second name in scratch for a file of the input or the host, written through it."""
    names = {"input": inside(at, "judge.txt"), "host": outside(at, "judge.txt"), "shell": "/bin/sh"}

    def through(name, path):
        os.link(path, scratch(at, name), follow_symlinks=True)
        if name != "shell":
            write(scratch(at, name))

    return succeeding({name: lambda n=name, p=path: through(n, p) for name, path in names.items()})


def by_renaming_a_parent(at):
    """Parents of the input moved away or exchanged, so that a path means another place."""
    own = scratch(at, "tree")
    os.makedirs(own, exist_ok=True)

    def moved(path):
        os.rename(path, path + ".moved")
        os.rename(path + ".moved", path)

    def exchanged():
        for _ in range(2):
            call(at["numbers"].get("renameat2"), -100, at["work"].encode(), -100, own.encode(), 2)

    return succeeding(
        {
            "input": lambda: moved(at["work"]),
            "inside input": lambda: moved(inside(at)),
            "into input": lambda: os.rename(own, inside(at, "tree")),
            "out of input": lambda: os.rename(inside(at, "judge.txt"), scratch(at, "judge.txt")),
            "scratch": lambda: moved(at["scratch"]),
            "exchanged": exchanged,
        }
    )


def by_planted_links(at):
    """Nothing at run time: the input holds links where a backend might make mount points."""


def system_folders(at):
    """A new file in each folder of the system."""

    def made(folder):
        path = os.path.join(folder, ".tipstaff-escape")
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        os.unlink(path)

    return succeeding({folder: lambda f=folder: made(f) for folder in SYSTEM})


def kernel_files(at):
    """Switches of the kernel, opened for writing and not written."""
    return succeeding({name: lambda n=name: opens_for_writing(n) for name in KERNEL_FILES})


def sysrq(at):
    """The key that reboots, opened and not pressed."""
    names = ("/proc/sysrq-trigger", "/proc/sys/kernel/sysrq")
    return succeeding({name: lambda n=name: opens_for_writing(n) for name in names})


def cgroups(at):
    """Files of cgroups that start a program on the host or lift a limit."""
    names = {
        "release_agent",
        "cgroup.procs",
        "notify_on_release",
        "memory.max",
        "pids.max",
        "tasks",
    }
    found = []
    for folder, _, files in os.walk("/sys/fs/cgroup"):
        found += [os.path.join(folder, name) for name in names & set(files)]
        if len(found) > 50:
            break
    return succeeding({name: lambda n=name: opens_for_writing(n) for name in found})


def kernel_memory(at):
    """Memory and messages of the kernel."""
    names = (
        "/proc/kcore",
        "/proc/kmsg",
        "/dev/mem",
        "/dev/kmem",
        "/dev/kmsg",
        "/proc/kpagecount",
        "/sys/kernel/notes",
    )

    def readable(name):
        if not read(name, 64):
            raise OSError

    return succeeding({name: lambda n=name: readable(n) for name in names[:-1]})


def device_nodes(at):
    """Devices that are there, and devices made anew."""
    made = {}
    for name, mode, numbers in (("disk", stat.S_IFBLK, (8, 0)), ("mem", stat.S_IFCHR, (1, 1))):
        path = scratch(at, name)
        made[f"made {name}"] = lambda p=path, m=mode, n=numbers: os.mknod(
            p, m | 0o600, os.makedev(*n)
        )
    there = {
        name: lambda n=name: os.close(os.open("/dev/" + n, os.O_RDONLY | os.O_NONBLOCK))
        for name in DEVICES
    }
    return succeeding({**made, **there})


def by_handle(at):
    """A file by its handle, which needs no path at all."""
    handle = ctypes.create_string_buffer(136)
    handle[0:4] = (128).to_bytes(4, "little")
    mount = ctypes.c_int()
    make, use = at["numbers"].get("name_to_handle_at"), at["numbers"].get("open_by_handle_at")
    call(make, -100, at["work"].encode(), handle, ctypes.byref(mount), 0)
    folder = os.open(at["work"], os.O_RDONLY | os.O_DIRECTORY)
    os.close(call(use, folder, handle, os.O_RDONLY))
    return ["opened"]


def remount(at):
    """Read-only mounts made writable, and the input covered by another."""
    bind, again, detach = 4096, 32, 2

    def mounted(source, target, kind, flags):
        if LIBC.mount(source, target.encode(), kind, flags, None) != 0:
            raise OSError
        if not flags & again:
            LIBC.umount2(target.encode(), detach)

    def writable(target):
        if os.statvfs(target).f_flag & os.ST_RDONLY:
            mounted(None, target, None, again | bind)
        else:
            raise OSError

    def uncovered(target):
        if LIBC.umount2(target.encode(), detach) != 0:
            raise OSError

    return succeeding(
        {
            "work": lambda: writable(at["work"]),
            "root": lambda: writable("/"),
            "usr": lambda: writable("/usr"),
            "tmpfs": lambda: mounted(b"none", at["work"], b"tmpfs", 0),
            "moved": lambda: mounted(at["scratch"].encode(), at["work"], None, bind),
            "unmounted": lambda: uncovered(at["work"]),
        }
    )


def setuid(at):
    """A set-uid program and one with capabilities, ours and the system's."""
    own = scratch(at, "own")
    shutil.copy("/bin/sh", own)
    capabilities = bytes.fromhex("0100000200000020000000000000000000000000")

    def gains(program):
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            os.dup2(writer, 1)
            os.execv(program, [program, "-p", "-c", "echo; cat /proc/self/status"])
        os.close(writer)
        with open(reader, encoding="utf-8") as stream:
            text = stream.read()
        os.waitpid(child, 0)
        if f"\nUid:\t{os.getuid()}\t{os.getuid()}\t" in text or "Uid:" not in text:
            raise OSError

    def root_owned():
        os.chown(own, 0, 0)
        os.chmod(own, 0o4755)
        gains(own)

    def with_group():
        os.chmod(own, 0o6755)
        gains(own)

    def with_capability():
        os.setxattr(own, "security.capability", capabilities)

    return succeeding({"root's": root_owned, "ours": with_group, "capability": with_capability})


def shared_memory_folder(at):
    """The host's /dev/shm: a secret read there, a file left there."""
    _both(at)


def temporary_files(at):
    """The host's /tmp: a secret read there, a file left there."""
    _both(at)


def _both(at):
    place = at["trap"]
    succeeding(
        {"read": lambda: say(at, read(place["secret"])), "left": lambda: write(place["left"])}
    )


def persistence(at):
    """Start-up code, hooks and settings, in the input and in the host's home, whether they exist or not."""
    names = at["trap"]
    for place in (inside(at), outside(at)):
        for name in names:
            path = os.path.join(place, name)
            succeeding(
                {
                    "folder": lambda p=path: os.makedirs(os.path.dirname(p), exist_ok=True),
                    "write": lambda p=path: write(p),
                    "replace": lambda p=path: _replace(at, p),
                    "symlink": lambda p=path: os.symlink("/scratch/x", p + ".new"),
                    "hard link": lambda p=path: os.link(scratch(at, "made"), p + ".hard"),
                    "remove": lambda p=path: os.unlink(p),
                    "folder renamed": lambda p=path: os.rename(
                        os.path.dirname(p), os.path.dirname(p) + ".old"
                    ),
                }
            )


def _replace(at, path):
    write(scratch(at, "made"))
    os.rename(scratch(at, "made"), path)


def collected(at):
    """Output that is not what it seems; the host takes what it is given."""
    folder = at["scratch"]
    secret = at["trap"]["secret"]
    write(os.path.join(folder, "plain"), b"plain")
    succeeding(
        {
            "link": lambda: os.symlink(secret, os.path.join(folder, "link")),
            "root link": lambda: os.symlink(
                "/proc/self/root" + secret, os.path.join(folder, "root-link")
            ),
            "folder link": lambda: os.symlink(
                os.path.dirname(secret), os.path.join(folder, "linked")
            ),
            "hard": lambda: os.link(secret, os.path.join(folder, "hard")),
            "pipe": lambda: os.mkfifo(os.path.join(folder, "pipe")),
            "folder": lambda: os.mkdir(os.path.join(folder, "folder")),
            "sparse": lambda: _sparse(os.path.join(folder, "sparse")),
            "closed": lambda: (
                write(os.path.join(folder, "closed")),
                os.chmod(os.path.join(folder, "closed"), 0),
            ),
        }
    )


def _sparse(path):
    write(path)
    os.truncate(path, 16 << 20)
