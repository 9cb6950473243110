"""Observes one MCP server at a URL, in a process of its own with bounded time and memory.

The job comes on standard input, so that the values of headers stand in no file and no argument; what was seen goes to
the folder of the only argument after those for imports. Redirects to another origin are not followed.
"""

import json
import logging
import os
import resource
import sys

sys.path[:0] = [os.path.dirname(os.path.abspath(__file__)), *sys.argv[2:]]

import anyio
import httpx2
from mcp.client.streamable_http import streamable_http_client
from outcome import NOT_PROBED, heard, inner, leave, numbered
from session import Gone, converse
from tape import Fault, Tape

MIB = 1 << 20
GRACE_S = 2


class Tee(httpx2.AsyncByteStream):
    """The body of a response, of which each message goes to the tape before anybody else reads it."""

    def __init__(self, stream, kind, tape):
        self.stream, self.kind, self.tape = stream, kind, tape
        self.body, self.event = bytearray(), []

    async def __aiter__(self):
        async for chunk in self.stream:
            if not self.tape.count(len(chunk)):
                raise httpx2.ReadError("too much")
            self.body += chunk
            if self.kind == "text/event-stream":
                self._events()
            if len(self.body) > self.tape.limits["message_bytes"]:
                self.tape.take(bytes(self.body))
                raise httpx2.ReadError("too much")
            yield chunk
        if self.kind == "application/json":
            self.tape.take(bytes(self.body))

    def _events(self):
        *lines, rest = self.body.replace(b"\r\n", b"\n").split(b"\n")
        for line in lines:
            if line.startswith(b"data:"):
                self.event.append(line[5:].removeprefix(b" "))
            elif not line and self.event:
                self.tape.take(b"\n".join(self.event))
                self.event = []
        self.body = bytearray(rest)

    async def aclose(self):
        """Close the body."""
        await self.stream.aclose()


class Site:
    """The URL of a job, asked by one client after the other."""

    def __init__(self, job):
        self.job, self.tapes, self.status = job, [], ""

    def sessions(self):
        """Two whole sessions; raises ``Fault``."""
        probing, found = True, []
        while len(found) < 2:
            try:
                found.append(anyio.run(self._session, (probing, not found)))
            except BaseExceptionGroup as group:
                error = inner(group)
            except (Fault, Gone) as lone:
                error = lone
            else:
                continue
            if not probing or not isinstance(error, Gone) or self.tapes[-1].fault is not None:
                raise self._fault(error) from error
            probing = False
        if not probing:
            found[0]["notes"].append(NOT_PROBED)
        return found

    def _fault(self, error):
        if self.tapes[-1].fault is not None:
            return self.tapes[-1].fault
        if isinstance(error, Fault):
            return Fault(error.code, f"{error.message}{self.status}")
        if isinstance(error, (Gone, httpx2.HTTPError, OSError)):
            return Fault("unreachable", f"{type(error).__name__}: {error}{self.status}")
        return Fault("incomplete", f"{type(error).__name__}: {error}")

    async def _session(self, plan):
        limits = self.job["limits"]
        wait = limits["session"]["remote_s"]
        remote = {**limits["session"], "silent_s": wait, "probe_s": wait}
        received = sum(tape.received for tape in self.tapes)
        tape = Tape(remote, limits["kept"], received)
        tape.secrets = self.job["headers"]
        self.tapes.append(tape)
        with anyio.move_on_after(remote["whole_s"]):
            async with (
                self._client(tape) as client,
                streamable_http_client(
                    self.job["url"], http_client=client, max_sse_event_size=remote["message_bytes"]
                ) as streams,
            ):
                return await converse(streams, self.job, tape, lambda: 0.0, plan)
        raise Fault("incomplete", "the whole session took too long")

    def _client(self, tape):
        async def tee(response):
            kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
            place = scrubbed(response.headers.get("location", ""), self.job["headers"])
            if response.status_code >= 300:
                to = f" to {place[:200]}, which is not followed" if response.is_redirect else ""
                self.status = f" (HTTP {response.status_code}{to})"
            if response.headers.get("content-encoding", "identity") != "identity":
                tape.fail("incomplete", "the server compresses what must come as it is")
            response.stream = Tee(response.stream, kind, tape)

        return httpx2.AsyncClient(
            headers={**self.job["headers"], "accept-encoding": "identity"},
            timeout=self.job["limits"]["session"]["start_s"],
            follow_redirects=False,
            event_hooks={"response": [tee]},
        )

    def report(self):
        """What happened besides."""
        return {
            "watched": "nothing",
            "attempts": [],
            "written": [],
            **heard(self.tapes, self.job["limits"]["kept"]["noise"]),
            "stderr": "",
            "received_bytes": self.tapes[-1].received if self.tapes else 0,
        }


def restrict(limits):
    """Take no more memory and processor time than a server in the sandbox."""
    memory = limits["memory_mb"] * MIB
    resource.setrlimit(resource.RLIMIT_DATA, (memory, memory))
    resource.setrlimit(resource.RLIMIT_CPU, (limits["cpu_s"], limits["cpu_s"] + 1))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def main():
    """Do the job of standard input."""
    logging.disable()
    job = json.load(sys.stdin)
    restrict(job["run"])
    site, files = Site(job), []
    index = {"sessions": [], "fault": None}
    try:
        index["sessions"], files = numbered(site.sessions())
    except Fault as fault:
        index["fault"] = {"code": fault.code, "message": fault.message}
    index["report"] = site.report()
    leave(sys.argv[1], scrubbed(index, job["headers"]), files)


def scrubbed(value, headers):
    """The value with no header's value in any of its texts."""
    if isinstance(value, str):
        for name, secret in headers.items():
            value = value.replace(secret, f"[{name}]")
        return value
    if isinstance(value, dict):
        return {key: scrubbed(item, headers) for key, item in value.items()}
    return [scrubbed(item, headers) for item in value] if isinstance(value, list) else value


if __name__ == "__main__":
    main()
