"""Observes one MCP server from within the sandbox it runs in, and leaves what it saw below ``/scratch/observed``.

Its argument is a file with the job, as JSON. ``index.json`` tells what came, by the number of a line in ``answers-N``,
which hold the server's own bytes. Whatever ends it early is told there too.
"""

import ctypes
import json
import logging
import os
import sys

sys.path[:0] = [os.path.dirname(os.path.abspath(__file__)), *sys.argv[2:]]

import anyio
from outcome import NOT_PROBED, heard, inner, leave, numbered
from session import Gone, converse
from stdio import Server, end_others, streams, worked
from tape import Fault, Tape
from watch import Watcher

OUT = "/scratch/observed"
FOLDERS = ("/scratch", "/tmp", "/dev/shm")
PR_SET_DUMPABLE = 4
COUNTERS = {
    "Tcp": ("ActiveOpens", "AttemptFails"),
    "Udp": ("OutDatagrams",),
    "Ip": ("OutNoRoutes", "OutRequests"),
}


class Observing:
    """A job in progress, with what all its sessions have in common."""

    def __init__(self, job):
        self.job = job
        self.watchers, self.tapes, self.last_words = [], [], ""

    def sessions(self):
        """Two whole sessions, the second to be held against the first; raises ``Fault``."""
        probing, found = True, []
        while len(found) < 2:
            try:
                found.append(self._session((probing, not found)))
            except Gone:  # a server that is not probed has no reason for it
                probing = False
        if not probing:
            found[0]["notes"].append(NOT_PROBED)
        return found

    def _session(self, plan):
        received = sum(tape.received for tape in self.tapes)
        limits = self.job["limits"]
        tape, watcher = Tape(limits["session"], limits["kept"], received), Watcher(limits)
        self.watchers.append(watcher)
        server = Server(self.job, tape, watcher)
        tape.received, before = received, received
        self.tapes.append(tape)

        async def talk():
            with anyio.move_on_after(limits["session"]["whole_s"]) as scope:
                async with streams(server) as pair:
                    return await converse(pair, self.job, tape, worked, plan)
            if scope.cancelled_caught:
                raise Fault("incomplete", "the whole session took too long")

        try:
            return anyio.run(talk)
        except (BaseExceptionGroup, Fault) as error:
            found = inner(error)
            how = server.ended() if isinstance(found, Fault) else ""
            raise Fault(found.code, f"{found.message} ({how})") if how else found from error
        finally:
            server.end()
            tape.received -= before
            self.last_words = bytes(server.last_words).decode("utf-8", "replace")

    def report(self):
        """What happened besides."""
        tried, kept = {}, self.job["limits"]["kept"]
        for watcher in self.watchers:
            for what, times in watcher.tried.items():
                tried[what] = tried.get(what, 0) + times
        works = bool(self.watchers) and all(watcher.works for watcher in self.watchers)
        if not works:
            tried |= counters()
        return {
            "watched": "system_calls" if works else "counters",
            "attempts": [
                {"kind": kind, "call": call, "what": what, "times": times}
                for (kind, call, what), times in sorted(tried.items())
            ],
            "attempts_left_out": sum(watcher.left_out for watcher in self.watchers),
            "written": left_behind(kept["written"]),
            **heard(self.tapes, kept["noise"]),
            "stderr": self.last_words,
            "received_bytes": sum(tape.received for tape in self.tapes),
        }


def walk(folder, *, topdown=True):
    """``os.walk`` that stays out of what is mounted below a folder."""
    device = os.lstat(folder).st_dev
    for place, folders, names in os.walk(folder, topdown=topdown):
        if os.lstat(place).st_dev == device:
            folders[:] = [name for name in folders if os.lstat(f"{place}/{name}").st_dev == device]
            yield place, folders, names


def left_behind(most):
    """Files and links below the writable folders, up to a number."""
    found = []
    for folder in FOLDERS:
        for place, _, names in walk(folder):
            found += [os.path.join(place, name) for name in names]
            if len(found) >= most:
                break
    return sorted(path.encode("utf-8", "replace").decode() for path in found[:most])


def counters():
    """What the kernel counted of the network, where it tells nothing of single calls."""
    try:
        with open("/proc/net/snmp") as file:
            rows = [line.split() for line in file]
    except OSError:
        return {}
    found = {}
    for names, values in zip(rows[::2], rows[1::2], strict=False):
        for name in COUNTERS.get(names[0].rstrip(":"), ()):
            if name in names and values[names.index(name)] != "0":
                found["network", "counted", f"{names[0]} {name}"] = int(values[names.index(name)])
    return found


def clear():
    """Make room: what a server left is told by name only."""
    for folder in FOLDERS:
        for place, _, names in walk(folder, topdown=False):
            for name in names:
                os.unlink(os.path.join(place, name))


def main():
    """Do the job of the file that is named."""
    logging.disable()
    with open(sys.argv[1]) as file:
        job = json.load(file)
    if os.path.exists("/proc/self/ns/pid") and os.readlink("/proc/self/ns/pid") == job["not_in"]:
        raise SystemExit("this is no sandbox")
    ctypes.CDLL(None).prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)
    observing, files = Observing(job), []
    index = {"sessions": [], "fault": None}
    try:
        index["sessions"], files = numbered(observing.sessions())
    except Fault as fault:
        index["fault"] = {"code": fault.code, "message": fault.message}
    end_others()
    index["report"] = observing.report()
    clear()
    leave(OUT, index, files)


if __name__ == "__main__":
    main()
