"""The host's end of the channel to a guest, which may be hostile: every answer is bounded, and parsed strictly.

A frame is a length of four bytes, big-endian, and that many bytes of JSON. The host sends one, the job; the guest
answers ``begun`` or ``fault``, then a ``file`` or ``refused`` for outputs, then ``ended``, and nothing after that.
"""

from __future__ import annotations

import base64
import binascii
import socket
import struct
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any, Literal, TypeVar

from pydantic import Field

from tipstaff.documents.base import Contract, parse
from tipstaff.documents.strict_json import loads
from tipstaff.documents.text import visible
from tipstaff.errors import ContractError, SandboxError
from tipstaff.sandbox.backend import SCRATCH, RunSpec
from tipstaff.sandbox.collection import (
    MAX_FILE_BYTES,
    MAX_FILES,
    MAX_REFUSED,
    MAX_TOTAL_BYTES,
    Basket,
    Refusal,
    below,
)
from tipstaff.sandbox.process import KILLED_EXIT_CODE, TIMEOUT_EXIT_CODE, Ended
from tipstaff.sandbox.run import Finished

_HEAD_BYTES = 4
_OVERHEAD_BYTES = 1 << 16
_CHUNK_BYTES = 1 << 18
_POLL_S = 0.1
_FIX = "run `tipstaff sandbox doctor`; if the job is not hostile, its guest is broken"


class Begun(Contract):
    """The job's program runs."""

    kind: Literal["begun"]
    kernel: str = Field(max_length=200)


class Fault(Contract):
    """The job's program never ran: it could not be executed, or the guest could not be made ready."""

    kind: Literal["fault"]
    stage: Literal["command", "guest"]
    reason: str


class OutputFile(Contract):
    """A file at or below a path that was asked for."""

    kind: Literal["file"]
    path: str
    data: str


class NoOutput(Contract):
    """A path that was asked for, or lies below one, and is not handed out."""

    kind: Literal["refused"]
    path: str
    reason: str = Field(max_length=1000)


class Over(Contract):
    """How the job ended."""

    kind: Literal["ended"]
    exit_code: int = Field(ge=0, le=255)
    timed_out: bool
    killed: bool
    oom: bool
    truncated: bool
    stdout: str
    stderr: str


C = TypeVar("C", bound=Contract)
_AFTER: dict[str, type[OutputFile] | type[NoOutput] | type[Over]] = {
    "file": OutputFile,
    "refused": NoOutput,
    "ended": Over,
}


@dataclass(frozen=True)
class Patience:
    """How long a guest may take to begin, and to answer over the wall time of its job, in seconds."""

    boot_s: float
    grace_s: float


class Silent(Exception):
    """The guest did not answer in time."""


@dataclass
class Channel:
    """A connection to a guest. ``is_over`` tells whether to stop waiting for it."""

    stream: socket.socket
    is_over: Callable[[], bool] = lambda: False

    def send(self, body: bytes, deadline: float) -> None:
        """Send one frame; raises ``Silent`` if the guest does not take it in time."""
        left = memoryview(struct.pack(">I", len(body)) + body)
        while left:
            self._await(deadline)
            try:
                left = left[self.stream.send(left) :]
            except TimeoutError:
                continue
            except OSError as error:
                raise _gone(f"it took no job: {error}") from error

    def receive(self, limit: int, deadline: float) -> Any:
        """The next frame's value; raises ``SandboxError`` for one that is none, ``Silent`` for none in time."""
        size = struct.unpack(">I", self._read(_HEAD_BYTES, deadline))[0]
        if size > limit:
            raise _gone(f"it announces a frame of {size} bytes, where {limit} are the most")
        body = self._read(size, deadline)
        try:
            return loads(body, max_bytes=limit)
        except ContractError as error:
            raise _gone(f"its answer is not one: {error.message}") from error

    def _read(self, size: int, deadline: float) -> bytes:
        data = bytearray()
        while len(data) < size:
            self._await(deadline)
            try:
                chunk = self.stream.recv(min(size - len(data), _CHUNK_BYTES))
            except TimeoutError:
                continue
            except OSError as error:
                raise _gone(f"the connection broke: {error}") from error
            if not chunk:
                raise _gone("it went away in the middle")
            data += chunk
        return bytes(data)

    def _await(self, deadline: float) -> None:
        remaining = deadline - time.monotonic()
        if remaining <= 0 or self.is_over():
            raise Silent
        self.stream.settimeout(min(remaining, _POLL_S))


def converse(channel: Channel, spec: RunSpec, job: bytes, patience: Patience) -> Finished:
    """Give the job and take its result.

    Raises ``SandboxError`` for a job that never ran, and for a guest that does not keep to the protocol.
    """
    try:
        _begin(channel, spec, job, time.monotonic() + patience.boot_s)
    except Silent as error:
        raise SandboxError(
            "sandbox.setup", f"the guest began nothing in {patience.boot_s:g} s", fix=_FIX
        ) from error
    collected = _Collected(spec)
    try:
        over = collected.follow(
            channel, time.monotonic() + spec.profile.limits.wall_s + patience.grace_s
        )
    except Silent:
        ended = Ended(True, True, None, b"", b"", truncated=True, limit="wall_s")
        return Finished(TIMEOUT_EXIT_CODE, ended, {})
    return collected.finished(over)


def _begin(channel: Channel, spec: RunSpec, job: bytes, deadline: float) -> None:
    channel.send(job, deadline)
    value = channel.receive(_OVERHEAD_BYTES, deadline)
    if _kind(value) == "begun":
        _parse(Begun, value)
        return
    fault = _parse(Fault, value)
    if fault.stage == "command":
        raise SandboxError(
            "sandbox.setup",
            f"{spec.argv[0]} cannot be started: {visible(fault.reason, limit=300)}",
            fix="name a program that exists and may be executed",
        )
    raise SandboxError(
        "sandbox.setup",
        f"the guest cannot run a job: {visible(fault.reason, limit=300)}",
        fix="use a kernel with squashfs, virtio, control groups (v2) and seccomp",
    )


class _Collected:
    """What a guest has handed over so far, each output at most once and none that was not asked for."""

    def __init__(self, spec: RunSpec) -> None:
        self._limits = spec.profile.limits
        self._asked_for = tuple(PurePosixPath(name) for name in spec.outputs)
        self._seen: set[str] = set()
        self._basket = Basket()

    def follow(self, channel: Channel, deadline: float) -> Over:
        largest = max(MAX_FILE_BYTES, 2 * self._limits.output_bytes)
        limit = largest * 4 // 3 + _OVERHEAD_BYTES
        while True:
            value = channel.receive(limit, deadline)
            frame = _parse(_AFTER.get(_kind(value), Over), value)
            if isinstance(frame, Over):
                return frame
            assert isinstance(frame, OutputFile | NoOutput)  # noqa: S101 (what is left of _AFTER)
            self._note(frame.path)
            if isinstance(frame, NoOutput):
                self._basket.refuse(frame.path, visible(frame.reason, limit=200))
            else:
                self._add(frame.path, _bytes(frame.data, MAX_FILE_BYTES))

    def _note(self, path: str) -> None:
        """Accept a path once, at or below one that was asked for; and no more of them than a guest is to send."""
        pure = PurePosixPath(path)
        is_plain = ".." not in pure.parts and str(pure) == path
        if not is_plain or not any(pure.is_relative_to(name) for name in self._asked_for):
            raise _gone("it hands out what nobody asked for")
        if path in self._seen or len(self._seen) > MAX_FILES + MAX_REFUSED:
            raise _gone("it hands out a path twice, or too many")
        self._seen.add(path)

    def _add(self, path: str, data: bytes) -> None:
        if self._basket.total + len(data) > MAX_TOTAL_BYTES:
            raise _gone(f"it hands out more than {MAX_TOTAL_BYTES} bytes")
        try:
            below(path, SCRATCH)
            self._basket.claim(path)
        except Refusal as refusal:
            self._basket.refuse(path, str(refusal))
        else:
            self._basket.add(path, data)

    def finished(self, over: Over) -> Finished:
        ended = Ended(
            timed_out=over.timed_out,
            killed=over.killed,
            oom=over.oom,
            stdout=_bytes(over.stdout, self._limits.output_bytes),
            stderr=_bytes(over.stderr, self._limits.output_bytes),
            truncated=over.truncated,
            limit=_limit(over),
        )
        code = KILLED_EXIT_CODE if over.killed else over.exit_code
        code = TIMEOUT_EXIT_CODE if over.timed_out else code
        return Finished(code, ended, self._basket.files, tuple(self._basket.refused))


def _limit(over: Over) -> str | None:
    """The limit that ended the job, of those that end one."""
    if over.timed_out:
        return "wall_s"
    if over.oom:
        return "memory_mb"
    return "cpu_s" if over.killed else None


def _kind(value: Any) -> str:
    kind = value.get("kind") if isinstance(value, dict) else None
    return kind if isinstance(kind, str) else ""


def _parse(model: type[C], value: Any) -> C:
    try:
        return parse(model, value)
    except ContractError as error:
        raise _gone(f"its answer is not one: {visible(error.message, limit=200)}") from error


def _bytes(text: str, limit: int) -> bytes:
    try:
        data = base64.b64decode(text, validate=True)
    except (ValueError, binascii.Error) as error:
        raise _gone("it hands out what is not base64") from error
    if len(data) > limit:
        raise _gone(f"it hands out {len(data)} bytes, where {limit} are the most")
    return data


def _gone(complaint: str) -> SandboxError:
    return SandboxError("sandbox.guest", f"the guest cannot be believed: {complaint}", fix=_FIX)
