"""Other processes: seen, signalled, talked to by memory and queues, and outlived."""

import ctypes
import os
import signal

from tools import LIBC, opens_for_writing, permitted, say, succeeding

SHOWN = 2000


def _numbers():
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def seen(at):
    """Every process in sight, with its command line, where the host looks for its own."""
    lines = []
    for process in _numbers():
        try:
            with open(f"/proc/{process}/cmdline", "rb") as file:
                line = file.read(SHOWN).replace(b"\0", b" ")
        except OSError:
            continue
        if b"canary-" in line:
            lines.append(line)
    say(at, b"\n".join(lines))


def signalled(at):
    """A process of the host, by each call that signals one."""
    process, mild = at["trap"], signal.SIGUSR1

    def by_handle():
        handle = os.pidfd_open(process)
        try:
            signal.pidfd_send_signal(handle, mild)
        finally:
            os.close(handle)

    tgkill, queue = at["numbers"].get("tgkill"), at["numbers"].get("rt_sigqueueinfo")
    information = ctypes.create_string_buffer(128)
    return succeeding(
        {
            "kill": lambda: os.kill(process, mild),
            "pidfd": by_handle,
            "tgkill": lambda: _sent(permitted(tgkill, process, process, mild)),
            "queue": lambda: _sent(permitted(queue, process, mild, information)),
        }
    )


def _sent(answer):
    if answer < 0:
        raise OSError


def shared_memory(at):
    """System V memory of the host, by its key and its number."""
    LIBC.shmat.restype = ctypes.c_void_p
    failed = ctypes.c_void_p(-1).value
    for number in (at["trap"]["number"], LIBC.shmget(at["trap"]["key"], 0, 0)):
        if number < 0:
            continue
        place = LIBC.shmat(number, None, 0o10000)
        if place not in (None, failed):
            say(at, ctypes.string_at(place, 200))


def message_queue(at):
    """A POSIX message queue of the host, by its name."""
    queue = LIBC.mq_open(at["trap"].encode(), os.O_RDONLY | os.O_NONBLOCK)
    if queue < 0:
        raise OSError(ctypes.get_errno(), "no such queue")
    buffer = ctypes.create_string_buffer(8192)
    size = LIBC.mq_receive(queue, buffer, 8192, None)
    say(at, buffer.raw[: max(0, size)])


def priority(at):
    """More of the machine than others get."""
    first_in, idle = os.SCHED_FIFO, os.sched_param(1)

    def bolder():
        before = os.getpriority(os.PRIO_PROCESS, 0)
        if (
            os.setpriority(os.PRIO_PROCESS, 0, before - 5)
            or os.getpriority(os.PRIO_PROCESS, 0) >= before
        ):
            raise OSError

    def unkillable():
        with open("/proc/self/oom_score_adj", "r+", encoding="ascii") as file:
            now = int(file.read())
            file.seek(0)
            file.write(str(now - 500))

    def unlimited():
        import resource

        limits = {
            name: resource.getrlimit(name)
            for name in (resource.RLIMIT_NPROC, resource.RLIMIT_NOFILE)
        }
        for name, (_, hard) in limits.items():
            resource.setrlimit(name, (hard + 1, hard + 1))

    return succeeding(
        {
            "real time": lambda: os.sched_setscheduler(0, first_in, idle),
            "nice": bolder,
            "never killed": unkillable,
            "limits raised": unlimited,
        }
    )


def inherited_descriptors(at):
    """Everything that is open here, read; only the streams may be."""
    found = []
    for number in range(3, 1024):
        try:
            kind = os.readlink(f"/proc/self/fd/{number}")
        except OSError:
            continue
        found.append((number, kind))
    for number, _ in found:
        succeeding({"read": lambda n=number: say(at, os.pread(n, 200, 0))})


def debugging(at):
    """What another process lets be changed by /proc."""
    names = [
        f"/proc/{at['trap']}/{name}"
        for name in ("mem", "oom_score_adj", "clear_refs", "comm", "timerslack_ns")
    ]
    return succeeding({name: lambda n=name: opens_for_writing(n) for name in names})
