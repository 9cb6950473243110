"""An MCP server as a process beside the driver: its three streams, its processor time, and its end."""

import os
import signal
import subprocess
import threading
import time
from contextlib import asynccontextmanager, suppress

import anyio
from mcp.shared.message import SessionMessage
from tape import Fault
from watch import start_watched

CHUNK_BYTES = 1 << 16
GRACE_S = 0.3
GONE_S = 5.0
LINE = 200
TICKS = os.sysconf("SC_CLK_TCK")


def others():
    """Every process but the sandbox's first and this one."""
    return [int(n) for n in os.listdir("/proc") if n.isdigit() and int(n) not in (1, os.getpid())]


def worked():
    """Processor seconds of every other process and of what this one has waited for."""
    used = 0
    for pid in others():
        with suppress(OSError), open(f"/proc/{pid}/stat") as file:
            used += sum(int(n) for n in file.read().rpartition(")")[2].split()[11:15])
    ended = os.times()
    return used / TICKS + ended.children_user + ended.children_system


def end_others():
    """End every other process of the sandbox; the caller knows that this is one."""
    deadline = time.monotonic() + GONE_S
    while others() and time.monotonic() < deadline:
        with suppress(ProcessLookupError):
            os.kill(-1, signal.SIGKILL)
        with suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        time.sleep(0.002)


class Server:
    """One started server. ``watcher`` notes what it tries; ``last_words`` is the end of its standard error."""

    def __init__(self, job, tape, watcher):
        self.tape, self.watcher = tape, watcher
        self.last_words = bytearray()
        self._room = job["limits"]["kept"]["stderr"]
        try:
            self.process = start_watched(
                watcher,
                lambda: subprocess.Popen(
                    job["command"],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                    env=job["environment"],
                    start_new_session=True,
                ),
            )
        except (OSError, ValueError) as error:
            raise Fault("unreachable", f"the command cannot be started: {error}") from error
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()

    def _listen(self):
        with suppress(OSError, ValueError):
            while chunk := os.read(self.process.stderr.fileno(), CHUNK_BYTES):
                self.last_words += chunk
                del self.last_words[: -self._room]

    async def read(self, stream):
        """Hand on each message that comes on standard output, until it ends or goes wrong."""
        number, line = self.process.stdout.fileno(), bytearray()
        os.set_blocking(number, False)
        async with stream:
            while self.tape.fault is None:
                await anyio.wait_readable(number)
                try:
                    chunk = os.read(number, CHUNK_BYTES)
                except BlockingIOError:
                    continue
                if not chunk or not self.tape.count(len(chunk)):
                    break
                *whole, rest = chunk.split(b"\n")
                for part in whole:
                    message = self.tape.take(bytes(line) + part)
                    line.clear()
                    if message is not None:
                        await stream.send(SessionMessage(message))
                line += rest
                if len(line) > self.tape.limits["message_bytes"]:
                    self.tape.take(bytes(line))
            if line and self.tape.fault is None:
                self.tape.fail(
                    "incomplete", f"the server ended after {len(line)} bytes of a message"
                )

    async def write(self, stream):
        """Send each message to standard input."""
        number = self.process.stdin.fileno()
        os.set_blocking(number, False)
        async with stream:
            async for item in stream:
                text = item.message.model_dump_json(by_alias=True, exclude_unset=True)
                data = memoryview(f"{text}\n".encode())
                while data:
                    await anyio.wait_writable(number)
                    try:
                        data = data[os.write(number, data) :]
                    except BlockingIOError:
                        continue
                    except OSError:
                        return

    def end(self):
        """Let it end by itself for a moment, then end all that is left of it."""
        with suppress(OSError):
            self.process.stdin.close()
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(GRACE_S)
        code = self.process.returncode
        end_others()
        self._listener.join(GRACE_S)
        self.watcher.close()
        return code

    def ended(self):
        """How it ended, in words; empty while it runs."""
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(GRACE_S)
        code = self.process.returncode
        if code is None:
            return ""
        self._listener.join(GRACE_S)
        lines = self.last_words.decode("utf-8", "replace").strip().splitlines()
        said = f": {lines[-1].strip()[-LINE:]}" if lines else ""
        return (
            f"ended by signal {-code}{said}" if code < 0 else f"ended with exit code {code}{said}"
        )


@asynccontextmanager
async def streams(server):
    """The pair of streams that a session of the SDK takes."""
    incoming, read = anyio.create_memory_object_stream(0)
    write, outgoing = anyio.create_memory_object_stream(0)
    async with anyio.create_task_group() as group:
        group.start_soon(server.read, incoming)
        group.start_soon(server.write, outgoing)
        try:
            yield read, write
        finally:
            group.cancel_scope.cancel()
            for stream in (read, write, incoming, outgoing):
                stream.close()
