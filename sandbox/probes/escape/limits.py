"""More than a run may use. Each stops by itself a little above the limit that the host describes."""

import mmap
import os
import signal
import subprocess
import sys
import threading
import time

from tools import LIBC, scratch, succeeding

MIB = 1 << 20
STUBBORN = """
import os, signal, sys, time
for number in (1, 2, 3, 13, 14, 15):
    signal.signal(number, signal.SIG_IGN)
if os.fork():
    os._exit(0)
os.setsid()
if os.fork():
    os._exit(0)
if sys.argv[3] == "silent":
    os.closerange(0, 3)
time.sleep(float(sys.argv[2]))
"""


def fork_bomb(at):
    """Processes, until one is refused."""
    allowed, children = at["limits"]["processes"], []
    try:
        while len(children) < allowed + 32:
            child = os.fork()
            if child == 0:
                signal.pause()
                os._exit(0)
            children.append(child)
    except OSError:
        pass
    for child in children:
        os.kill(child, signal.SIGKILL)
    for child in children:
        os.waitpid(child, 0)
    return [f"{len(children)} processes"] if len(children) > allowed else []


def threads(at):
    """Threads, which are processes to the kernel."""
    allowed, go, count = at["limits"]["processes"], threading.Event(), 0
    threading.stack_size(1 << 17)
    try:
        while count < allowed + 32:
            threading.Thread(target=go.wait, daemon=True).start()
            count += 1
    except (RuntimeError, MemoryError):
        pass
    go.set()
    return [f"{count} threads"] if count > allowed else []


def memory(at):
    """One process that takes half as much again as all may have."""
    held, wanted = [], at["limits"]["memory_mb"] * 3 // 2
    while len(held) < wanted // 16:
        held.append(bytearray(os.urandom(4096)) * (16 * MIB // 4096))
    return [f"{len(held) * 16} MiB in one process"]


def memory_of_many(at):
    """Four processes that take half as much again together, and hold it."""
    share = at["limits"]["memory_mb"] * 3 // 8
    children = []
    for _ in range(4):
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            block = bytearray(os.urandom(4096)) * (share * MIB // 4096)
            os.write(writer, b"x")
            time.sleep(at["limits"]["wall_s"])
            os._exit(len(block) % 2)
        os.close(writer)
        children.append((child, reader))
    ready = [os.read(reader, 1) for _, reader in children]
    time.sleep(1.0)  # a supervisor that looks now and then is allowed its look
    alive = [child for child, _ in children if os.waitpid(child, os.WNOHANG) == (0, 0)]
    for child in alive:
        os.kill(child, signal.SIGKILL)
    return [f"{4 * share} MiB in four processes"] if all(ready) and len(alive) == 4 else []


def processor(at):
    """A loop that uses more seconds than there are."""
    allowed = at["limits"]["cpu_s"]
    signal.signal(signal.SIGXCPU, signal.SIG_IGN)
    while time.process_time() < allowed + 2.5:
        for _ in range(100_000):
            pass
    return [f"{allowed + 2} CPU seconds"]


def wall(at):
    """Descendants that leave the session and ignore signals, and then sleep past the end."""
    _leave(at["trap"], at["limits"]["wall_s"] + 8, "holding the streams")
    time.sleep(at["limits"]["wall_s"] + 3)
    return [f"{at['limits']['wall_s'] + 3} seconds"]


def outlive(at):
    """The same descendants, left behind by a command that ends in time."""
    _leave(at["trap"], 60, "silent")


def _leave(marker, seconds, how):
    line = [sys.executable, "-I", "-S", "-c", STUBBORN, marker, str(seconds), how]
    subprocess.run(line, check=False)


def output(at):
    """Four times the output that is kept, on both streams; the host measures what it got."""
    block = b"x" * 65536
    for descriptor in (1, 2):
        for _ in range(max(1, at["limits"]["output_bytes"] * 4 // len(block))):
            os.write(descriptor, block)


def descriptors(at):
    """Open files, until one is refused."""
    allowed, held = at["limits"]["open_files"], []
    try:
        while len(held) < allowed + 32:
            held.append(os.open("/dev/null", os.O_RDONLY))
    except OSError:
        pass
    for number in held:
        os.close(number)
    return [f"{len(held)} descriptors"] if len(held) > allowed else []


def file_size(at):
    """A file beyond the limit: sparse, and written at its end."""
    size = (at["limits"]["file_size_mb"] + 1) * MIB
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)

    def sparse():
        path = scratch(at, "sparse")
        with open(path, "wb") as file:
            os.truncate(file.fileno(), size)

    def written():
        descriptor = os.open(scratch(at, "written"), os.O_WRONLY | os.O_CREAT)
        try:
            os.pwrite(descriptor, b"x" * 4096, size - 4096)
        finally:
            os.close(descriptor)

    return succeeding({"sparse": sparse, "written": written})


def space(at):
    """Each folder that may be written, filled beyond its size."""
    done = []
    for folder in (os.path.join(at["scratch"]), "/tmp", "/dev/shm"):
        total = _fill(os.path.join(folder, "filling-" + at["case"]), at["limits"])
        if total > at["limits"]["scratch_mb"]:
            done.append(f"{total} MiB in {folder}")
    return done


def _fill(stem, limits):
    size, names = min(4, limits["file_size_mb"]), []
    block = b"\xa5" * (size * MIB)
    try:
        for number in range((limits["scratch_mb"] + 16) // size):
            names.append(f"{stem}-{number}")
            descriptor = os.open(names[-1], os.O_WRONLY | os.O_CREAT)
            try:
                if os.write(descriptor, block) < len(block):
                    raise OSError
            finally:
                os.close(descriptor)
    except OSError:
        names = names[:-1]
    total = len(names) * size
    for number in range(len(names) + 1):
        succeeding({"removed": lambda n=number: os.unlink(f"{stem}-{n}")})
    return total


def inodes(at):
    """Empty files, more than there may be."""
    done = []
    for folder in (at["scratch"], "/tmp", "/dev/shm"):
        count = _flood(os.path.join(folder, "flood-" + at["case"]), at["limits"]["inodes"] + 256)
        if count > at["limits"]["inodes"]:
            done.append(f"{count} files in {folder}")
    return done


def _flood(folder, wanted):
    count = 0
    try:
        os.mkdir(folder)
        for number in range(wanted):
            os.close(os.open(f"{folder}/{number}", os.O_WRONLY | os.O_CREAT))
            count += 1
    except OSError:
        pass
    for number in range(count):
        os.unlink(f"{folder}/{number}")
    succeeding({"removed": lambda: os.rmdir(folder)})
    return count


def locked_memory(at):
    """Memory that can never be swapped out, and huge shared memory without a file."""
    size = at["limits"]["memory_mb"] * 2 * MIB
    name = LIBC.memfd_create(b"tipstaff", 0)

    def grown():
        os.ftruncate(name, size)
        for _ in range(size // MIB):
            os.write(name, b"\xa5" * MIB)

    try:
        return succeeding({f"{size // MIB} MiB without a file": grown})
    finally:
        os.close(name)


def mapped_memory(at):
    """Anonymous memory shared with nobody, by mmap."""
    size = at["limits"]["memory_mb"] * 3 // 2 * MIB
    area = mmap.mmap(-1, size)
    for position in range(0, size, 4096):
        area[position] = 1
    return [f"{size // MIB} MiB of shared mapping"]
