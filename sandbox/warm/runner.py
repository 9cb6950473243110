"""Runs one command several times inside one sandbox, and prints what came of each as a line of JSON.

A run is a fork of this process, which has loaded what it can trust and nothing of the input. Between two runs every
other process is ended and the writable folders are emptied; where anything is left, or anything about this process
has changed, it stops, and the runs that are missing are somebody else's to make. Its argument is the job, as JSON.
Runs on the standard library alone. Runs of one interpreter share its seed for hashes.
"""

import sys

if sys.path[:1] == [""]:
    del sys.path[0]  # before anything can be imported from the input

import base64
import ctypes
import errno
import gc
import json
import os
import resource
import runpy
import select
import signal
import stat
import time

FOLDERS = ("/scratch", "/tmp", "/dev/shm")
TICK_S = 0.02
DRAIN_S = 0.5
GONE_S = 5.0
PR_SET_DUMPABLE, PR_SET_CHILD_SUBREAPER = 4, 36
IPC_RMID = 0
KILLED, TIMED_OUT = 128 + signal.SIGKILL, 124
TICKS = os.sysconf("SC_CLK_TCK")
LIBC = ctypes.CDLL(None, use_errno=True)


class Left(Exception):
    """Something of a run could not be taken away, so no other may follow it."""


def others():
    """The processes besides this one and the sandbox's first."""
    return [int(n) for n in os.listdir("/proc") if n.isdigit() and int(n) not in (1, os.getpid())]


def end_others():
    """End every other process, and see that it is gone."""
    deadline = time.monotonic() + GONE_S
    while True:
        try:
            os.kill(-1, signal.SIGKILL)
        except ProcessLookupError:
            pass
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            pass
        if not others():
            return
        if time.monotonic() > deadline:
            raise Left(f"processes do not end: {others()[:5]}")
        time.sleep(0.001)


def mounted():
    """The mount points below the writable folders, and every folder on the way to one."""
    found = set()
    with open("/proc/self/mountinfo") as file:
        places = [line.split()[4].encode().decode("unicode_escape") for line in file]
    while places:
        place = places.pop()
        if place.startswith(tuple(f"{folder}/" for folder in FOLDERS)):
            found.add(place)
            places.append(os.path.dirname(place))
    return found


def empty(folder, kept):
    """Take everything out of a folder but what is mounted there."""
    for entry in list(os.scandir(folder)):
        if not entry.is_dir(follow_symlinks=False):
            os.unlink(entry.path)
        elif not os.path.ismount(entry.path):
            os.chmod(entry.path, 0o700)
            empty(entry.path, kept)
            if entry.path not in kept:
                os.rmdir(entry.path)


def empty_folders(kept):
    """Make the writable folders what they were at first."""
    for folder in FOLDERS:
        try:
            os.chmod(folder, 0o700)
            empty(folder, kept)
        except (OSError, RecursionError) as error:
            raise Left(f"{folder} cannot be emptied: {error}") from error


def remove_ipc():
    """Take away what System V keeps without a process."""
    removals = {"shm": "shmctl", "sem": "semctl", "msg": "msgctl"}
    for kind, name in removals.items():
        try:
            with open(f"/proc/sysvipc/{kind}") as file:
                numbers = [int(line.split()[1]) for line in file.readlines()[1:]]
        except OSError:
            continue
        for number in numbers:
            words = (number, 0, IPC_RMID, 0) if kind == "sem" else (number, IPC_RMID, 0)
            if getattr(LIBC, name)(*words) != 0:
                raise Left(f"System V {kind} {number} cannot be removed")


def condition():
    """What another process of the same user could change about this one."""
    limits = [
        getattr(resource, name) for name in sorted(dir(resource)) if name.startswith("RLIMIT_")
    ]
    return (
        [resource.getrlimit(limit) for limit in limits],
        os.getpriority(os.PRIO_PROCESS, 0),
        sorted(os.sched_getaffinity(0)),
        os.sched_getscheduler(0),
        os.getcwd(),
    )


def cpu_s():
    """CPU seconds used by every other process and what it has waited for."""
    used = 0
    for pid in others():
        try:
            with open(f"/proc/{pid}/stat") as file:
                used += sum(int(n) for n in file.read().rpartition(")")[2].split()[11:15])
        except OSError:
            continue
    return used / TICKS


class Stream:
    """The first bytes of what a run writes; the rest is read and thrown away."""

    def __init__(self, limit):
        self.theirs, self.ours = None, None
        self.ours, self.theirs = os.pipe()
        self.limit, self.data, self.truncated = limit, bytearray(), False

    def read(self):
        """Take what is there; False at the end."""
        chunk = os.read(self.ours, 1 << 16)
        room = self.limit - len(self.data)
        self.data += chunk[:room]
        self.truncated = self.truncated or len(chunk) > room
        return bool(chunk)


def drain(streams, open_streams, seconds):
    """Read what comes within some time; what has ended is taken from ``open_streams``."""
    ready, _, _ = select.select(sorted(open_streams), [], [], seconds)
    for number in ready:
        if not streams[number].read():
            open_streams.discard(number)
    return bool(ready)


def watch(child, streams, limits):
    """Follow a run to its end or to a limit; its exit code, and whether time was up."""
    open_streams = set(streams)
    deadline = time.monotonic() + limits["wall_s"]
    look = 0.0
    while True:
        drain(streams, open_streams, TICK_S) if open_streams else time.sleep(TICK_S / 4)
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            code = os.waitstatus_to_exitcode(status)
            code, timed_out = (code if code >= 0 else 128 - code), False
            break
        now = time.monotonic()
        if now >= deadline:
            code, timed_out = TIMED_OUT, True
            break
        if now >= look:
            look = now + TICK_S
            if cpu_s() > limits["cpu_s"]:
                code, timed_out = KILLED, False
                break
    end_others()
    stop = time.monotonic() + DRAIN_S
    while open_streams and time.monotonic() < stop and drain(streams, open_streams, DRAIN_S):
        pass
    return code, timed_out


def read_file(path, most):
    """The bytes of a regular file, or the reason why there are none."""
    try:
        parts = path.split("/")
        folder = os.open("/", os.O_PATH | os.O_DIRECTORY)
        for part in parts[1:-1]:
            inner = os.open(part, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=folder)
            os.close(folder)
            folder = inner
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY
        file = os.open(parts[-1], flags, dir_fd=folder)
        os.close(folder)
    except OSError as error:
        return None, "is not there" if error.errno == errno.ENOENT else error.strerror
    with open(file, "rb") as reader:
        status = os.fstat(file)
        if not stat.S_ISREG(status.st_mode):
            return None, "is no regular file"
        data = reader.read(most + 1)
    return (data, None) if len(data) <= most else (None, "is too large")


def one_run(job):
    """Fork for a run; None in the child, else what came of it."""
    limits = job["limits"]
    begun = time.monotonic()
    out, err = Stream(limits["output_bytes"]), Stream(limits["output_bytes"])
    child = os.fork()
    if child == 0:
        os.setsid()
        for number, wanted in (
            (os.open("/dev/null", os.O_RDWR), 0),
            (out.theirs, 1),
            (err.theirs, 2),
        ):
            os.dup2(number, wanted)
        os.closerange(3, 1 << 12)
        resource.setrlimit(resource.RLIMIT_CPU, (limits["cpu_s"], limits["cpu_s"] + 1))
        LIBC.prctl(PR_SET_DUMPABLE, 1, 0, 0, 0)
        return None
    os.close(out.theirs)
    os.close(err.theirs)
    code, timed_out = watch(child, {out.ours: out, err.ours: err}, limits)
    for stream in (out, err):
        os.close(stream.ours)
    outputs, refused = {}, {}
    for path in job["outputs"]:
        data, reason = read_file(path, job["file_bytes"])
        if data is None:
            refused[path] = reason
        else:
            outputs[path] = base64.b64encode(data).decode()
    return {
        "exit_code": code,
        "timed_out": timed_out,
        "duration_ms": round((time.monotonic() - begun) * 1000),
        "stdout": base64.b64encode(out.data).decode(),
        "stderr": base64.b64encode(err.data).decode(),
        "truncated": out.truncated or err.truncated,
        "outputs": outputs,
        "refused": refused,
    }


def load(name):
    """Import a module that every run will import; one that cannot be is each run's own to complain about."""
    try:
        return __import__(name)
    except Exception:
        return None


def load_plugins():
    """Import the installed plugins of pytest, which would otherwise be a run's first second."""
    from importlib import metadata

    before = set(sys.modules)
    for plugin in metadata.entry_points(group="pytest11"):
        load(plugin.module)
        if plugin.dist is not None:
            load(plugin.dist.name.replace("-", "_"))
    for name in (
        set(sys.modules) - before
    ):  # pytest warns of a plugin's module that it comes too late to rewrite
        module = sys.modules[name]
        if getattr(module, "__doc__", "") is None or isinstance(getattr(module, "__doc__", 0), str):
            module.__doc__ = f"{module.__doc__ or ''}\nPYTEST_DONT_REWRITE"


def prepare(job):
    """Make this process the reaper of all, closed to the others, with everything loaded that a run may share."""
    LIBC.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    if LIBC.prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0:
        raise Left("this process cannot be closed to others")
    work = os.getcwd()
    sys.path[:] = [p for p in sys.path if p not in ("", work) and not p.startswith(f"{work}/")]
    if job["module"] == "pytest":
        for name in ("pytest", "_pytest.junitxml"):
            load(name)
        if "PYTEST_DISABLE_PLUGIN_AUTOLOAD" not in job["environment"]:
            load_plugins()
    gc.freeze()


def serve(job):
    """Make the runs; returns in the child of each, and in this process after the last."""
    answers = os.dup(1)
    before, kept = condition(), mounted()
    for _ in range(job["times"]):
        answer = one_run(job)
        if answer is None:
            return True
        empty_folders(kept)
        remove_ipc()
        if condition() != before:
            raise Left("a run has changed the runner")
        line = (json.dumps(answer) + "\n").encode()
        while line:
            line = line[os.write(answers, line) :]
    return False


def become(job):
    """Be the command, as its own interpreter would have begun it."""
    os.environ.clear()
    os.environ.update(job["environment"])
    argv, module = job["argv"], job["module"]
    if module is None:
        os.execvpe(argv[0], argv, os.environ)
    if not sys.flags.ignore_environment:
        sys.path[:0] = [p for p in os.environ.get("PYTHONPATH", "").split(":") if p]
    if not getattr(sys.flags, "safe_path", sys.flags.isolated):
        sys.path.insert(0, job["beside"] or os.getcwd())
    sys.argv[:] = argv
    runpy.run_module(module, run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    JOB = json.loads(sys.argv[1])
    prepare(JOB)
    if serve(JOB):
        become(JOB)
