"""Everything that a server said in one session, as it said it, within bounds.

The SDK gets parsed messages; what is kept is the server's own bytes, so that who reads them later sees what it sent.
"""

import json
import time

from mcp_types import (
    JSONRPCError,
    JSONRPCNotification,
    JSONRPCRequest,
    JSONRPCResponse,
    jsonrpc_message_adapter,
)


class Fault(Exception):
    """Why there is no whole contract. ``code`` is unreachable, incomplete or error_response."""

    def __init__(self, code, message):
        super().__init__(message)
        self.code, self.message = code, message


class Tape:
    """What came, counted. ``limits`` is the part ``session`` of the limits, ``kept`` the part of that name."""

    def __init__(self, limits, kept, received=0):
        self.limits, self.kept = limits, kept
        self.received = received
        self.answers, self.asked = {}, []
        self.noise, self.noise_lines = [], 0
        self.notifications, self.requests = 0, []
        self.heard = time.monotonic()
        self.fault = None
        self.stop = None
        self.secrets = {}

    def fail(self, code, message):
        """Note why nothing more can come of this, and end the wait for it."""
        self.fault = self.fault or Fault(code, message)
        if self.stop is not None:
            self.stop.cancel()

    def count(self, number):
        """Note that bytes came; False once there are too many."""
        self.heard = time.monotonic()
        self.received += number
        if self.received > self.limits["total_bytes"]:
            self.fail("incomplete", f"the server sent more than {self.limits['total_bytes']} bytes")
        return self.fault is None

    def take(self, data):
        """The message that some bytes are, or None for what is no message or follows a fault."""
        if self.fault is not None or not data.strip():
            return None
        if len(data) > self.limits["message_bytes"]:
            self.fail(
                "incomplete", f"a message is larger than {self.limits['message_bytes']} bytes"
            )
            return None
        for name, value in self.secrets.items():
            if holds(data, value):
                self.fail("incomplete", f"the server sends the value of the header {name} back")
                return None
        try:
            message = jsonrpc_message_adapter.validate_json(data, by_name=False)
        except ValueError as error:
            self._outside(data, error)
            return None
        if isinstance(message, (JSONRPCResponse, JSONRPCError)):
            refused_unread = message.id is None and self.asked
            self.answers.setdefault(
                self.asked[-1].id if refused_unread else message.id, bytes(data)
            )
        elif isinstance(message, JSONRPCRequest):
            if len(self.requests) < self.kept["attempts"]:
                self.requests.append(message.method[: self.kept["line"]])
        elif isinstance(message, JSONRPCNotification):
            self.notifications += 1
        return message

    def _outside(self, data, error):
        if b'"jsonrpc"' in data:
            said = str(error).splitlines()
            why = next((line.strip() for line in said[1:] if line.strip()), said[0])
            why = why.partition(" [type=")[0][:200]
            self.fail("incomplete", f"a message of the server cannot be read: {why}")
            return
        self.noise_lines += 1
        if len(self.noise) < self.kept["noise"]:
            self.noise.append(data[: self.kept["line"]].decode("utf-8", "replace"))


class Noted:
    """A stream of outgoing messages that notes each request on the tape."""

    def __init__(self, stream, tape):
        self.stream, self.tape = stream, tape

    async def send(self, item):
        """Note a request, and send it on."""
        if isinstance(item.message, JSONRPCRequest):
            self.tape.asked.append(item.message)
        await self.stream.send(item)

    async def aclose(self):
        """Close the stream."""
        await self.stream.aclose()

    async def __aenter__(self):
        await self.stream.__aenter__()
        return self

    async def __aexit__(self, *error):
        return await self.stream.__aexit__(*error)


def plain(data):
    """The JSON of an answer, read once more for what the driver itself needs of it."""
    return json.loads(data)


def holds(data, text):
    """Whether a text is in some bytes as it is, or in JSON however it is escaped there."""
    if text.encode() in data:
        return True
    try:
        spelled = json.dumps(json.loads(data), ensure_ascii=False)
    except (ValueError, RecursionError):
        return False
    return json.dumps(text, ensure_ascii=False)[1:-1] in spelled
