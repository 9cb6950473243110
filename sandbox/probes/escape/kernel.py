"""Calls that reach parts of the kernel which namespaces do not divide, or that take a sandbox apart.

Each is made so that it does no harm where it is allowed.
"""

import ctypes
import errno
import os
import time

from tools import LIBC, call, permitted, say, succeeding

NEW_USER, NEW_NET, NEW_MOUNT, NEW_PID = 0x10000000, 0x40000000, 0x00020000, 0x20000000
NEW_IPC, NEW_UTS, NEW_CGROUP, NEW_TIME = 0x08000000, 0x04000000, 0x02000000, 0x00000080
BAD = -1
TAMED = b"tipstaff-no-such-thing\0"


def _numbers(at, *names):
    return {name: at["numbers"].get(name) for name in names}


def ptrace(at):
    """A process traced, ours or another."""
    number = at["numbers"].get("ptrace")
    seize, trace_me = 0x4206, 0
    found = {"itself": lambda: _in_child(lambda: call(number, trace_me, 0, 0, 0))}
    for name, process in (("first", 1), ("host's", at["trap"]), ("parent", os.getppid())):
        # Seizing stops nothing, and ends with the child that does it.
        found[name] = lambda p=process: _in_child(lambda: call(number, seize, p, 0, 0))
    return succeeding(found)


def _in_child(attempt):
    child = os.fork()
    if child == 0:
        try:
            attempt()
        except OSError:
            os._exit(1)
        os._exit(0)
    if os.waitpid(child, 0)[1]:
        raise PermissionError(errno.EPERM, "refused")


class Vector(ctypes.Structure):
    """An address and a length."""

    _fields_ = [("base", ctypes.c_void_p), ("length", ctypes.c_size_t)]


def memory_of_others(at):
    """The memory of another process, by call and by /proc."""
    number = at["numbers"].get("process_vm_readv")
    for process in (at["trap"], 1, os.getppid()):
        succeeding({"call": lambda p=process: _vm_read(at, number, p)})
        succeeding({"file": lambda p=process: _mem_read(at, p)})
    buffer = ctypes.create_string_buffer(8)
    own = Vector(ctypes.addressof(buffer), 8)
    mine = (number, os.getpid(), ctypes.byref(own), 1, ctypes.byref(own), 1, 0)
    return succeeding({"process_vm_readv": lambda: call(*mine)})


def _stack(process):
    with open(f"/proc/{process}/maps", encoding="utf-8") as file:
        for line in file:
            if line.rstrip().endswith("[stack]"):
                low, high = line.split()[0].split("-")
                return max(int(low, 16), int(high, 16) - 16384), int(high, 16)
    raise OSError


def _vm_read(at, number, process):
    low, high = _stack(process)
    buffer = ctypes.create_string_buffer(high - low)
    ours, theirs = Vector(ctypes.addressof(buffer), high - low), Vector(low, high - low)
    call(number, process, ctypes.byref(ours), 1, ctypes.byref(theirs), 1, 0)
    say(at, _secrets(buffer.raw))


def _mem_read(at, process):
    low, high = _stack(process)
    with open(f"/proc/{process}/mem", "rb", buffering=0) as file:
        file.seek(low)
        say(at, _secrets(file.read(high - low)))


def _secrets(data):
    position = data.find(b"canary-")
    return data[position : position + 200] if position >= 0 else b""


def keyring(at):
    """Keys of the kernel: those of the host, and a new one."""
    keyctl, add, ask = (at["numbers"].get(name) for name in ("keyctl", "add_key", "request_key"))
    buffer = ctypes.create_string_buffer(256)
    search, read = 10, 11
    name = at["trap"].encode()
    for ring in (-3, -4, -5, -2):
        for kind in (b"user\0", b"logon\0"):

            def get(ring=ring, kind=kind):
                key = call(keyctl, search, ring, kind, name, 0)
                size = call(keyctl, read, key, buffer, 256)
                say(at, buffer.raw[:size])

            succeeding({"read": get})
    return succeeding(
        {
            "keyctl": lambda: permitted(keyctl, 0, -3, 1),
            "add_key": lambda: call(add, b"user\0", b"tipstaff-inside\0", b"x", 1, -2),
            "request_key": lambda: permitted(ask, b"user\0", TAMED, 0, 0),
            "/proc/keys": lambda: (
                say(at, open("/proc/keys", "rb").read(4096)) or _empty("/proc/keys")
            ),
        }
    )


def _empty(path):
    with open(path, "rb") as file:
        if not file.read(1):
            raise OSError


def io_uring(at):
    """A ring, whose requests no filter of calls sees."""
    setup = at["numbers"].get("io_uring_setup")
    parameters = ctypes.create_string_buffer(120)
    return succeeding({"io_uring_setup": lambda: os.close(call(setup, 1, parameters))})


def bpf(at):
    """Programs and maps in the kernel."""
    number = at["numbers"].get("bpf")
    array = ctypes.create_string_buffer(
        b"".join(n.to_bytes(4, "little") for n in (2, 4, 4, 1)), 120
    )
    return succeeding({"map": lambda: permitted(number, 0, array, 120)})


def perf(at):
    """Counters that see other processes and the kernel."""
    number = at["numbers"].get("perf_event_open")
    attributes = ctypes.create_string_buffer(128)
    attributes[0:16] = b"".join(n.to_bytes(4, "little") for n in (1, 128, 0, 0))
    return succeeding({"perf_event_open": lambda: permitted(number, attributes, 0, -1, -1, 0)})


def userfaultfd(at):
    """Page faults handled by us, which makes races in the kernel easy."""
    return succeeding({"userfaultfd": lambda: permitted(at["numbers"].get("userfaultfd"), 1)})


def unshare(at):
    """New namespaces, each a large piece of the kernel to attack."""
    number = at["numbers"].get("unshare")
    kinds = {
        "user": NEW_USER,
        "mount": NEW_MOUNT,
        "net": NEW_NET,
        "pid": NEW_PID,
        "ipc": NEW_IPC,
        "uts": NEW_UTS,
        "cgroup": NEW_CGROUP,
        "time": NEW_TIME,
        "user and net": NEW_USER | NEW_NET,
    }
    return succeeding(
        {name: lambda f=flag: _in_child(lambda: call(number, f)) for name, flag in kinds.items()}
    )


def clone_user(at):
    """A child in a user namespace of its own, by both ways to make one."""
    clone, clone3 = at["numbers"].get("clone"), at["numbers"].get("clone3")
    sigchld = 17

    def old():
        child = call(clone, NEW_USER | sigchld, 0, 0, 0, 0)
        if child == 0:
            os._exit(0)
        os.waitpid(child, 0)

    def new():
        arguments = bytearray(88)
        arguments[0:8] = NEW_USER.to_bytes(8, "little")
        arguments[32:40] = sigchld.to_bytes(8, "little")
        child = call(clone3, (ctypes.c_char * 88).from_buffer(arguments), 88)
        if child == 0:
            os._exit(0)
        os.waitpid(child, 0)

    return succeeding({"clone": old, "clone3": new})


def join(at):
    """The namespaces of other processes entered."""
    number = at["numbers"].get("setns")

    def enter(process, kind):
        descriptor = os.open(f"/proc/{process}/ns/{kind}", os.O_RDONLY)
        try:
            _in_child(lambda: call(number, descriptor, 0))
        finally:
            os.close(descriptor)

    kinds = ("user", "mnt", "net", "pid", "uts", "ipc")
    return succeeding(
        {f"{p} {k}": lambda p=p, k=k: enter(p, k) for p in (1, at["parent"]) for k in kinds}
    )


def mount(at):
    """Mounts by the old call and by the new ones."""
    place = os.path.join(at["scratch"], "mount")
    os.makedirs(place, exist_ok=True)
    n = _numbers(
        at, "mount", "umount2", "fsopen", "open_tree", "move_mount", "mount_setattr", "fspick"
    )

    def old(kind):
        call(n["mount"], b"none\0", place.encode(), kind, 0, 0)
        LIBC.umount2(place.encode(), 2)

    kinds = ("tmpfs", "proc", "sysfs", "cgroup2", "overlay", "devpts", "bpf", "fuse")
    found = {kind: lambda k=kind: old(k.encode() + b"\0") for kind in kinds}
    found["fsopen"] = lambda: os.close(call(n["fsopen"], b"tmpfs\0", 0))
    found["open_tree"] = lambda: os.close(call(n["open_tree"], -100, place.encode(), 1))
    found["fspick"] = lambda: os.close(call(n["fspick"], -100, b"/\0", 0))
    found["move_mount"] = lambda: permitted(n["move_mount"], BAD, b"\0", BAD, b"\0", 0)
    return succeeding(found)


def root_folder(at):
    """Another root."""
    n = _numbers(at, "chroot", "pivot_root")
    place = at["scratch"].encode()
    return succeeding(
        {
            "chroot": lambda: _in_child(lambda: call(n["chroot"], place)),
            "pivot_root": lambda: permitted(n["pivot_root"], TAMED, TAMED),
        }
    )


def identity(at):
    """Root's name, other groups, capabilities, and the promise of no new privileges taken back."""
    header = (ctypes.c_uint32 * 2)(0x20080522, 0)
    wanted = (ctypes.c_uint32 * 6)(*([0xFFFFFFFF] * 6))
    set_no_new_privs, set_secure_bits, ambient = 38, 28, 47

    def capabilities():
        if LIBC.capset(header, wanted) != 0:
            raise OSError

    def control(option, *arguments):
        words = [*arguments, 0, 0, 0, 0][:4]
        if LIBC.prctl(option, *(ctypes.c_ulong(word) for word in words)) != 0:
            raise OSError

    return succeeding(
        {
            "setuid": lambda: _in_child(lambda: os.setuid(0)),
            "setgid": lambda: _in_child(lambda: os.setgid(0)),
            "setgroups": lambda: _in_child(lambda: os.setgroups([0])),
            "setresuid": lambda: _in_child(lambda: os.setresuid(0, 0, 0)),
            "capset": lambda: _in_child(capabilities),
            "securebits": lambda: _in_child(lambda: control(set_secure_bits, 0x2F)),
            "ambient": lambda: _in_child(lambda: control(ambient, 2, 21)),
            "privileges again": lambda: control(set_no_new_privs, 0),
            "root already": lambda: _raise_unless(os.geteuid() == 0),
        }
    )


def _raise_unless(true):
    if not true:
        raise OSError


def modules(at):
    """Code in the kernel."""
    n = _numbers(at, "init_module", "finit_module", "delete_module")
    return succeeding(
        {
            "init_module": lambda: permitted(n["init_module"], 0, 0, 0),
            "finit_module": lambda: permitted(n["finit_module"], BAD, b"\0", 0),
            "delete_module": lambda: permitted(n["delete_module"], TAMED, 0o4000),
        }
    )


def restart(at):
    """The machine stopped, or its next kernel chosen; magic numbers and flags are wrong on purpose."""
    n = _numbers(at, "reboot", "kexec_load", "kexec_file_load")
    return succeeding(
        {
            "reboot": lambda: permitted(n["reboot"], 1, 1, 1, 0),
            "kexec_load": lambda: permitted(n["kexec_load"], 0, 0, 0, 0xFF00),
            "kexec_file_load": lambda: permitted(n["kexec_file_load"], BAD, BAD, 0, 0, 0xFF00),
        }
    )


def clock(at):
    """The clock set, to what it says already."""

    def jump():
        moment = time.clock_gettime(time.CLOCK_REALTIME)
        time.clock_settime(time.CLOCK_REALTIME, moment)

    def adjust():
        frequency, buffer = 0x0002, ctypes.create_string_buffer(208)
        if LIBC.adjtimex(buffer) < 0:
            raise OSError
        buffer[0:4] = frequency.to_bytes(4, "little")
        if LIBC.adjtimex(buffer) < 0:
            raise OSError

    n = _numbers(at, "settimeofday")
    return succeeding(
        {
            "clock_settime": jump,
            "adjtimex": adjust,
            "settimeofday": lambda: call(n["settimeofday"], 0, ctypes.create_string_buffer(8)),
        }
    )


def messages(at):
    """The kernel's messages, which hold addresses and names of the host."""
    number = at["numbers"].get("syslog")
    buffer = ctypes.create_string_buffer(64)
    return succeeding(
        {"read all": lambda: call(number, 3, buffer, 64), "size": lambda: call(number, 10, 0, 0)}
    )


def accounting(at):
    """Swap, accounting and quotas, with names that do not exist."""
    n = _numbers(at, "swapon", "swapoff", "acct", "quotactl")
    return succeeding(
        {
            "swapon": lambda: permitted(n["swapon"], TAMED, 0),
            "swapoff": lambda: permitted(n["swapoff"], TAMED),
            "acct": lambda: permitted(n["acct"], TAMED),
        }
    )


def ports(at):
    """Input and output ports of the machine."""
    n = _numbers(at, "iopl", "ioperm")
    return succeeding(
        {
            "iopl": lambda: _in_child(lambda: call(n["iopl"], 3)),
            "ioperm": lambda: _in_child(lambda: call(n["ioperm"], 0x80, 1, 1)),
        }
    )


def host_name(at):
    """The names of the machine, set to what they are."""
    name = os.uname().nodename.encode()

    def set_name(function):
        if function(name, len(name)) != 0:
            raise OSError

    return succeeding(
        {"host": lambda: set_name(LIBC.sethostname), "domain": lambda: set_name(LIBC.setdomainname)}
    )


def stolen_descriptor(at):
    """A descriptor of another process taken by its number."""
    pidfd_getfd = at["numbers"].get("pidfd_getfd")

    def take(process):
        handle = os.pidfd_open(process)
        try:
            os.close(call(pidfd_getfd, handle, 0, 0))
        finally:
            os.close(handle)

    return succeeding(
        {name: lambda p=p: take(p) for name, p in (("first", 1), ("host's", at["trap"]))}
    )


def watching(at):
    """Every access to a whole file system watched."""
    number = at["numbers"].get("fanotify_init")
    return succeeding({"fanotify": lambda: os.close(call(number, 0, 0))})
