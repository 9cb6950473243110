"""Administration of a remote OPA: a real server on loopback TCP that wants a token."""

from __future__ import annotations

import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tipstaff.errors import ContractError, DecisionError
from tipstaff.pdp import admin
from tipstaff.pdp.address import Remote
from tipstaff.pdp.opa import Opa

TOKEN = "a-token-for-tests"
RULES = """package system.authz

default allow := false

allow if input.identity == "a-token-for-tests"
"""


@pytest.fixture(scope="module")
def server(opa: Opa, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    rules = tmp_path_factory.mktemp("remote") / "authz.rego"
    rules.write_text(RULES)
    with socket.create_server(("127.0.0.1", 0)) as probe:
        address = f"127.0.0.1:{probe.getsockname()[1]}"
    argv = [str(opa.path), "run", "--server", f"--addr={address}", "--authentication=token"]
    argv += ["--authorization=basic", "--log-level=error", "--skip-version-check", str(rules)]
    with subprocess.Popen(argv, env={}, stderr=subprocess.DEVNULL) as process:
        deadline = time.monotonic() + 20
        while not admin.is_healthy(Remote(f"http://{address}", TOKEN)):
            assert time.monotonic() < deadline
            time.sleep(0.02)
        yield f"http://{address}"
        process.kill()


def test_server_is_healthy_for_who_has_the_token(server: str) -> None:
    assert admin.is_healthy(Remote(server, TOKEN))
    assert not admin.is_healthy(Remote(server, "wrong"))


def test_policies_are_listed_for_who_has_the_token(server: str) -> None:
    found = admin.policies(Remote(server, TOKEN))
    assert [name.rsplit("/", 1)[-1] for name in found] == ["authz.rego"]
    with pytest.raises(DecisionError) as refused:
        admin.policies(Remote(server, "wrong"))
    assert refused.value.code == "engine.http"


def test_netrc_never_replaces_the_token(
    server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / ".netrc").write_text("machine 127.0.0.1 login x password y\n")
    monkeypatch.setenv("NETRC", str(tmp_path / ".netrc"))
    assert admin.is_healthy(Remote(server, TOKEN))


def test_absent_server_is_unavailable() -> None:
    remote = Remote("http://127.0.0.1:1", TOKEN)
    assert not admin.is_healthy(remote)
    with pytest.raises(DecisionError) as refused:
        admin.policies(remote)
    assert refused.value.code == "engine.unavailable"


@pytest.mark.parametrize("url", ["http://example.com", "unix:///tmp/x", "ftp://localhost", "x"])
def test_address_that_is_not_safe_is_refused(url: str) -> None:
    with pytest.raises(ContractError) as refused:
        Remote(url, TOKEN)
    assert refused.value.code == "opa.url"
