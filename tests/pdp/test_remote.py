"""A sidecar behind a URL: a real OPA with TLS and a token on loopback, and URLs that are refused."""

from __future__ import annotations

import socket
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from support.certificates import write_certificates
from tipstaff.errors import ContractError, DecisionError
from tipstaff.pdp.address import Remote
from tipstaff.pdp.opa import Opa
from tipstaff.pdp.remote import RemoteTransport

TOKEN = "a-token-for-tests"
RULES = """package system.authz

default allow := false

allow if input.identity == "a-token-for-tests"
"""
POLICY = "package house\n\nanswer := input.x + 1\n"


@dataclass(frozen=True)
class Server:
    """Where it listens, and the folder with its CA."""

    url: str
    ca: Path


@pytest.fixture(scope="module")
def server(opa: Opa, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = write_certificates(tmp_path_factory.mktemp("remote"))
    (folder / "authz.rego").write_text(RULES)
    (folder / "house.rego").write_text(POLICY)
    with socket.create_server(("127.0.0.1", 0)) as probe:
        address = f"127.0.0.1:{probe.getsockname()[1]}"
    argv = [str(opa.path), "run", "--server", f"--addr={address}", "--authentication=token"]
    argv += ["--authorization=basic", "--log-level=error", "--skip-version-check"]
    argv += [f"--tls-cert-file={folder}/server.pem", f"--tls-private-key-file={folder}/server.key"]
    argv += [str(folder / "authz.rego"), str(folder / "house.rego")]
    with subprocess.Popen(argv, env={}, stderr=subprocess.DEVNULL) as process:
        _await(address)
        yield Server(f"https://{address}", folder / "ca.pem")
        process.kill()


def _await(address: str) -> None:
    host, port = address.split(":")
    deadline = time.monotonic() + 20
    while True:
        try:
            socket.create_connection((host, int(port)), timeout=1).close()
            return
        except OSError:
            assert time.monotonic() < deadline
            time.sleep(0.02)


def _post(transport: RemoteTransport, seconds: float = 5) -> tuple[int, bytes]:
    deadline = time.monotonic() + seconds
    return transport.post("/v1/data/house/answer", b'{"input":{"x":1}}', deadline)


def test_answers_come_over_tls_on_one_connection(server: Server) -> None:
    transport = RemoteTransport(Remote(server.url, TOKEN, server.ca))
    assert _post(transport) == (200, b'{"result":2}\n')
    connection = transport._socket
    assert _post(transport)[0] == 200
    assert transport._socket is connection
    transport.close()


def test_wrong_token_is_the_servers_refusal(server: Server) -> None:
    transport = RemoteTransport(Remote(server.url, "wrong", server.ca))
    assert _post(transport)[0] == 401
    transport.close()


def test_server_of_an_unknown_ca_is_not_believed(server: Server) -> None:
    with pytest.raises(DecisionError) as refused:
        _post(RemoteTransport(Remote(server.url, TOKEN)))
    assert refused.value.code == "engine.certificate"
    assert TOKEN not in str(refused.value.diagnostics())


def test_silent_server_is_a_timeout() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        with pytest.raises(DecisionError) as late:
            _post(RemoteTransport(Remote(url, TOKEN)), seconds=0.2)
    assert late.value.code == "engine.timeout"


def test_nobody_listening_is_unavailable() -> None:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        url = f"http://127.0.0.1:{probe.getsockname()[1]}"
    with pytest.raises(DecisionError) as gone:
        _post(RemoteTransport(Remote(url, TOKEN)))
    assert gone.value.code == "engine.unavailable"


@pytest.mark.parametrize(
    ("url", "token"),
    [
        ("http://127.0.0.1:8181", None),
        ("http://opa.example.com", TOKEN),
        ("ftp://127.0.0.1", TOKEN),
        ("https://user:secret@opa.example.com", TOKEN),
        ("https://", TOKEN),
        ("https://opa.example.com:99999", TOKEN),
        ("https://opa.example.com/\r\nX: y", TOKEN),
        ("https://opa.example.com", "two words"),
        ("https://opa.example.com", "a\r\nX-Header: b"),
    ],
)
def test_url_or_token_that_could_mislead_is_refused(url: str, token: str | None) -> None:
    with pytest.raises(ContractError) as refused:
        Remote(url, token)
    assert refused.value.field in ("TIPSTAFF_OPA_URL", "TIPSTAFF_OPA_TOKEN")


def test_ca_file_that_is_none_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ContractError) as refused:
        RemoteTransport(Remote("https://opa.example.com", TOKEN, tmp_path / "none"))
    assert refused.value.code == "opa.ca"
