"""The guest is hostile: whatever it sends, the host ends with a result or with one error, in time and in bounds."""

from __future__ import annotations

import base64
import json
import socket
import struct
import time
from pathlib import Path
from typing import Any

import pytest

from support.machines import frame, played
from support.sandboxes import strict
from tipstaff.errors import SandboxError
from tipstaff.sandbox.backend import RunSpec
from tipstaff.sandbox.microvm.channel import Channel, Patience, converse
from tipstaff.sandbox.run import Finished

BEGUN = frame({"kind": "begun", "kernel": "6.1.0"})
PATIENCE = Patience(boot_s=20.0, grace_s=20.0)
OUTPUTS = ("/scratch/a", "/scratch/b")


def over(**changed: Any) -> bytes:
    """The last frame of a guest, with some of its members changed."""
    ended: dict[str, Any] = {
        "kind": "ended",
        "exit_code": 3,
        **dict.fromkeys(("timed_out", "killed", "oom", "truncated"), False),
        "stdout": base64.b64encode(b"out").decode(),
        "stderr": "",
    }
    return frame(ended | changed)


def file(path: str = "/scratch/a", data: str = "ZGF0YQ==") -> bytes:
    """A frame that hands out a file."""
    return frame({"kind": "file", "path": path, "data": data})


def spec(**limits: int) -> RunSpec:
    """A run that asks for two outputs."""
    return RunSpec(("job",), Path("/input"), strict(**limits), outputs=OUTPUTS)


def talk(channel: Channel, patience: Patience = PATIENCE) -> Finished:
    """The host's side of a conversation."""
    return converse(channel, spec(wall_s=1), b"{}", patience)


def test_a_guest_that_keeps_to_the_protocol_is_taken_at_its_word() -> None:
    refused = frame({"kind": "refused", "path": "/scratch/b", "reason": "a link"})
    with played(BEGUN, file(), refused, over()) as channel:
        finished = talk(channel)
    assert (finished.exit_code, finished.ended.stdout) == (3, b"out")
    assert finished.outputs == {"/scratch/a": b"data"}
    assert [(one.path, one.reason) for one in finished.refused] == [("/scratch/b", "a link")]


def test_names_that_a_file_system_could_confuse_are_refused_and_told() -> None:
    files = (file("/scratch/a/b"), file("/scratch/a/B"), file("/scratch/a/c\u202e"))
    with played(BEGUN, *files, over()) as channel:
        finished = talk(channel)
    assert list(finished.outputs) == ["/scratch/a/b"]
    assert [one.path for one in finished.refused] == ["/scratch/a/B", "/scratch/a/c\\u{202e}"]


@pytest.mark.parametrize(
    ("said", "code", "limit"),
    [
        ({"timed_out": True, "killed": True, "exit_code": 0}, 124, "wall_s"),
        ({"killed": True, "exit_code": 0}, 137, "cpu_s"),
        ({"oom": True, "exit_code": 137}, 137, "memory_mb"),
        ({"exit_code": 255}, 255, None),
    ],
)
def test_what_ended_a_job_is_told(said: dict[str, Any], code: int, limit: str | None) -> None:
    with played(BEGUN, over(**said)) as channel:
        finished = talk(channel)
    assert (finished.exit_code, finished.ended.limit) == (code, limit)


HOSTILE = {
    "no JSON": frame(b"{"),
    "no text": frame(b'{"kind": "\xff"}'),
    "a member twice": frame(b'{"kind": "ended", "kind": "ended"}'),
    "a list": frame([]),
    "a kind that is none": frame({"kind": "begun", "kernel": ""}),
    "a kind that is no word": frame({"kind": {}}),
    "a member too many": over(effect="allow"),
    "an exit code too large": over(exit_code=256),
    "an exit code below zero": over(exit_code=-1),
    "a code that is text": over(exit_code="0"),
    "no flag": over(oom="no"),
    "no base64": over(stdout="a"),
    "more output than asked for": over(stdout="A" * 4 * (400 << 10)),
    "a file that nobody asked for": file("/scratch/c"),
    "a file outside": file("/etc/passwd"),
    "a file twice": file() + file(),
    "a file and its refusal": file()
    + frame({"kind": "refused", "path": "/scratch/a", "reason": ""}),
    "a file that is no base64": file(data="!"),
    "a file too large": file(data="A" * (12 << 20)),
    "a frame too large": struct.pack(">I", 1 << 31) + b"x",
    "a path that climbs": file("/scratch/a/../b"),
    "a path that is no plain one": file("/scratch//a"),
    "too many refusals": b"".join(
        frame({"kind": "refused", "path": f"/scratch/a/{n}", "reason": ""}) for n in range(1200)
    ),
    "too many bytes": b"".join(file(f"/scratch/a/{n}", "AAAA" * (2 << 20)) for n in range(12)),
    "nothing more": b"",
    "half a length": b"\0\0",
    "half a frame": struct.pack(">I", 100) + b"{",
    "nesting without end": frame(b"[" * 100_000),
}


@pytest.mark.promise("X1")
@pytest.mark.parametrize("answer", HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_answer_is_an_error_and_no_result(answer: bytes) -> None:
    with played(BEGUN, answer) as channel, pytest.raises(SandboxError) as raised:
        talk(channel)
    assert raised.value.code == "sandbox.guest"
    assert raised.value.exit_code == 3


@pytest.mark.promise("X1")
@pytest.mark.parametrize("answer", [frame(b"["), over(), b"", frame({"kind": "fault"})])
def test_a_guest_that_does_not_begin_properly_is_an_error(answer: bytes) -> None:
    with played(answer) as channel, pytest.raises(SandboxError) as raised:
        talk(channel)
    assert raised.value.code == "sandbox.guest"


@pytest.mark.parametrize(
    ("stage", "words"), [("command", "job cannot be started: no such"), ("guest", "guest cannot")]
)
def test_a_job_that_never_ran_is_a_set_up_failure(stage: str, words: str) -> None:
    fault = frame({"kind": "fault", "stage": stage, "reason": "no such file\x1b[31m"})
    with played(fault) as channel, pytest.raises(SandboxError, match=words) as raised:
        talk(channel)
    assert raised.value.code == "sandbox.setup"
    assert "\x1b" not in raised.value.message


def _flood(peer: socket.socket) -> None:
    piece = json.dumps({"kind": "begun", "kernel": "x" * 100}).encode()
    while True:
        peer.sendall(frame(piece))


def _drip(peer: socket.socket) -> None:
    peer.sendall(struct.pack(">I", 1000))
    while True:
        peer.sendall(b" ")
        time.sleep(0.01)


def _hold(peer: socket.socket) -> None:
    peer.recv(1)


@pytest.mark.promise("X1")
def test_frames_without_end_are_refused_at_the_first_that_is_out_of_place() -> None:
    with played(BEGUN, then=_flood) as channel, pytest.raises(SandboxError) as raised:
        talk(channel)
    assert raised.value.code == "sandbox.guest"


@pytest.mark.promise("X1")
@pytest.mark.parametrize("then", [_hold, _drip])
def test_a_guest_that_never_ends_is_a_timeout(then: Any) -> None:
    with played(BEGUN, then=then) as channel:
        finished = talk(channel, Patience(boot_s=20.0, grace_s=0.2))
    assert (finished.exit_code, finished.ended.timed_out, finished.outputs) == (124, True, {})


def test_a_guest_that_never_begins_is_a_set_up_failure() -> None:
    with played(then=_hold) as channel, pytest.raises(SandboxError) as raised:
        talk(channel, Patience(boot_s=0.2, grace_s=0.2))
    assert raised.value.code == "sandbox.setup"


def test_a_run_that_is_cancelled_waits_for_no_guest() -> None:
    with played(BEGUN, then=_hold) as channel:
        finished = talk(Channel(channel.stream, is_over=_after(3)))
    assert finished.ended.timed_out


def _after(calls: int) -> Any:
    left = iter([False] * calls)
    return lambda: next(left, True)
