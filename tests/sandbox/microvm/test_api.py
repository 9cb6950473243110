"""The client of Firecracker's API socket: what it sends, in order, and what becomes of each answer."""

from __future__ import annotations

import json
import os
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from socketserver import UnixStreamServer
from typing import Any

import pytest

from support.sandboxes import strict
from tipstaff.errors import SandboxError
from tipstaff.sandbox.backend import RunSpec
from tipstaff.sandbox.microvm import api, firecracker
from tipstaff.sandbox.microvm.api import Api
from tipstaff.sandbox.microvm.firecracker import Firecracker
from tipstaff.sandbox.microvm.machine import plan

MACHINE = plan(RunSpec(("true",), Path("/input"), strict()), channel="vsock:1024")
# What Firecracker 1.17 says to a user who may not open /dev/kvm.
NO_KVM = (
    "Start microvm error: Kvm error: Error creating KVM object: Permission denied (os error 13) Make sure the "
    "user launching the firecracker process is \nconfigured on the /dev/kvm file's ACL."
)


class Played:
    """A socket that answers as Firecracker does: 204 to all but what it was told to refuse."""

    def __init__(self, refused: dict[str, tuple[int, bytes]]) -> None:
        self.refused = refused
        self.asked: list[tuple[str, str, Any]] = []


@contextmanager
def serving(folder: Path, **refused: tuple[int, bytes]) -> Iterator[Played]:
    """Firecracker's socket in a folder; ``refused`` by the last part of the path."""
    played = Played(refused)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._answer(200, b'{"state": "Not started"}')

        def do_PUT(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            played.asked.append((self.command, self.path, json.loads(body)))
            self._answer(*played.refused.get(self.path.rpartition("/")[2], (204, b"")))

        def _answer(self, status: int, body: bytes) -> None:
            self.send_response(status)
            if body:
                self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            """Say nothing."""

        def address_string(self) -> str:
            return "unix"

    descriptor = os.open(folder, os.O_PATH)
    server = UnixStreamServer(f"/proc/self/fd/{descriptor}/{api.SOCKET}", Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield played
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
        os.close(descriptor)


def test_a_machine_is_configured_and_started_in_order(tmp_path: Path) -> None:
    deep = tmp_path / ("a" * 120)  # an address of this length fits no socket
    deep.mkdir()
    with serving(deep) as played:
        client = Api(deep, wait_s=5)
        client.await_socket(lambda: False)
        client.configure(MACHINE)
    assert played.asked == [("PUT", path, body) for path, body in api.requests(MACHINE)]


def test_a_refusal_stops_at_once_and_is_told_in_firecrackers_words(tmp_path: Path) -> None:
    fault = json.dumps({"fault_message": "No such drive\x1b[2J"}).encode()
    with serving(tmp_path, drive0=(400, fault)) as played:
        with pytest.raises(
            SandboxError, match="refuses PUT /drives/drive0: No such drive"
        ) as raised:
            Api(tmp_path, wait_s=5).configure(MACHINE)
    assert raised.value.code == "sandbox.setup"
    assert "\x1b" not in raised.value.message
    assert played.asked[-1][1] == "/drives/drive0"


def test_a_kvm_that_does_not_work_is_named_as_what_is_missing(tmp_path: Path) -> None:
    fault = json.dumps({"fault_message": NO_KVM}).encode()
    with serving(tmp_path, actions=(400, fault)), pytest.raises(SandboxError) as raised:
        Api(tmp_path, wait_s=5).configure(MACHINE)
    assert (raised.value.code, raised.value.exit_code) == ("sandbox.unavailable", 3)
    assert "/dev/kvm" in raised.value.message


@pytest.mark.parametrize("answer", [(500, b"<html>"), (200, b"[]"), (400, b'{"fault_message": 7}')])
def test_an_answer_that_is_not_firecrackers_is_a_refusal(
    tmp_path: Path, answer: tuple[int, bytes]
) -> None:
    with serving(tmp_path, vsock=answer), pytest.raises(SandboxError) as raised:
        Api(tmp_path, wait_s=5).configure(MACHINE)
    assert raised.value.code == "sandbox.setup"


def test_what_is_no_http_is_a_refusal(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / api.SOCKET))
        listener.listen()

        def answer() -> None:
            with listener.accept()[0] as peer:
                peer.recv(1 << 16)
                peer.sendall(b"\0" * 100 + b"\r\n\r\n")

        thread = threading.Thread(target=answer)
        thread.start()
        with pytest.raises(SandboxError, match="/machine-config") as raised:
            Api(tmp_path, wait_s=5).configure(MACHINE)
        thread.join()
    assert raised.value.code == "sandbox.setup"


def test_a_firecracker_that_ends_before_it_serves_is_not_waited_for(tmp_path: Path) -> None:
    with pytest.raises(SandboxError, match="does not serve its API socket"):
        Api(tmp_path, wait_s=60).await_socket(lambda: True)


@pytest.mark.req("S-03", "S-06")
@pytest.mark.promise("X10")
def test_without_kvm_the_probe_says_so_and_starts_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(firecracker, "KVM", tmp_path / "kvm")
    program = tmp_path / "firecracker"
    program.write_text(f"#!/bin/sh\ntouch {tmp_path}/started\n")
    program.chmod(0o755)
    probe = Firecracker(program, strict()).probe()
    assert not probe.available
    assert f"{tmp_path}/kvm is missing" in str(probe.reason)
    assert probe.fix
    assert not (tmp_path / "started").exists()
