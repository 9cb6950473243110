"""What the sidecar's own API lets through: two decision paths and health, by exactly one spelling of the method."""

from __future__ import annotations

import os
from pathlib import Path
from socket import AF_UNIX, SOCK_STREAM, socket

import pytest

from support.probes import CLOSED, OPEN, PATH
from tipstaff.pdp import sidecar
from tipstaff.pdp.bundle import Bundle
from tipstaff.pdp.client import VERDICT
from tipstaff.pdp.opa import Opa
from tipstaff.pdp.sidecar import Sidecar


@pytest.fixture(scope="module")
def running(opa: Opa, policy: Bundle, tmp_path_factory: pytest.TempPathFactory) -> Sidecar:
    return sidecar.join(tmp_path_factory.mktemp("surface") / "state", opa, [policy], idle_s=30)


@pytest.fixture(scope="module", autouse=True)
def _ended(running: Sidecar) -> object:
    yield
    sidecar.stop(running.directory.parents[1])


def _status(
    running: Sidecar, method: str, path: str, body: bytes = b"{}", headers: str = ""
) -> int:
    folder = os.open(running.directory, os.O_PATH)
    with socket(AF_UNIX, SOCK_STREAM) as peer:
        peer.settimeout(20)
        peer.connect(f"/proc/self/fd/{folder}/{running.socket.name}")
        os.close(folder)
        head = f"{method} {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n{headers}"
        peer.sendall(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
        answer = peer.recv(65536)
    return int(answer.split()[1])


@pytest.mark.promise("D7")
@pytest.mark.req("E-09")
@pytest.mark.parametrize(("method", "path"), OPEN)
def test_permitted_request_passes(method: str, path: str, running: Sidecar) -> None:
    assert _status(running, method, path) == 200


@pytest.mark.promise("D7")
@pytest.mark.req("E-09")
@pytest.mark.parametrize(("method", "path"), CLOSED)
def test_any_other_request_is_refused(method: str, path: str, running: Sidecar) -> None:
    assert _status(running, method, path) in (301, 307, 308, 400, 401, 403, 404, 405)


@pytest.mark.promise("D7", "row 55", "BR-15")
@pytest.mark.req("E-09")
def test_policy_cannot_be_written_and_answers_stay(running: Sidecar) -> None:
    client = running.client(deadline_s=20)
    before = client.ask(VERDICT, b'{"input":{"ok":false}}')
    rego = b'package tipstaff.decision\n\nverdict := {"effect": "allow"}\n'
    for method, path in (
        ("PUT", "/v1/policies/x"),
        ("PUT", "/v1/policies/tipstaff%2Fdecision"),
        ("PUT", "/v1/data/tipstaff/decision"),
        ("PATCH", "/v1/data/tipstaff/limits"),
        ("DELETE", "/v1/policies/tipstaff/decision/decision.rego"),
    ):
        assert _status(running, method, path, rego) in (401, 403)
    assert client.ask(VERDICT, b'{"input":{"ok":false}}') == before
    assert before.result == {"effect": "deny"}
    client.close()


@pytest.mark.promise("D7")
@pytest.mark.req("E-09")
@pytest.mark.parametrize(
    ("method", "headers"),
    [
        ("GET", "X-HTTP-Method-Override: POST\r\n"),
        ("POST", "Content-Type: application/x-yaml\r\n"),
        ("POST", "Content-Type: text/plain, application/yaml\r\n"),
        ("PUT", "X-Original-URL: /health\r\n"),
        ("GET", "Authorization: Bearer x\r\n"),
    ],
)
def test_headers_open_nothing(method: str, headers: str, running: Sidecar) -> None:
    assert _status(running, method, PATH, headers=headers) in (401, 403)


def test_override_header_does_not_turn_a_question_into_a_write(running: Sidecar) -> None:
    headers = "X-HTTP-Method-Override: PUT\r\n"
    assert _status(running, "POST", "/v1/policies/x", b"package x", headers) == 401
    assert _status(running, "POST", PATH, headers=headers) == 200


@pytest.mark.promise("D8")
def test_oversized_question_is_refused(running: Sidecar) -> None:
    head = f"POST {PATH} HTTP/1.1\r\nHost: x\r\nContent-Length: 300000000\r\n\r\n"
    folder = os.open(running.directory, os.O_PATH)
    with socket(AF_UNIX, SOCK_STREAM) as peer:
        peer.settimeout(20)
        peer.connect(f"/proc/self/fd/{folder}/{running.socket.name}")
        os.close(folder)
        peer.sendall(head.encode())
        assert int(peer.recv(65536).split()[1]) in (400, 413)


@pytest.mark.promise("D7")
def test_socket_is_the_only_way_in(running: Sidecar) -> None:
    for table in ("tcp", "tcp6", "udp", "udp6"):
        lines = Path(f"/proc/{running.pid}/net/{table}").read_text().splitlines()[1:]
        inodes = {line.split()[9] for line in lines}
        ours = {os.readlink(link) for link in Path(f"/proc/{running.pid}/fd").iterdir()}
        assert not [inode for inode in inodes if f"socket:[{inode}]" in ours]
