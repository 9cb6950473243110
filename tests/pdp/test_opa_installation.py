"""Installing OPA: by a pinned digest, by Go, or not at all."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tipstaff.errors import DecisionError
from tipstaff.pdp import opa as program
from tipstaff.pdp.opa import Opa

PROGRAM = f'#!/bin/sh\necho "Version: {program.VERSION}"\n'.encode()
GO = '#!/bin/sh\n[ "$CGO_ENABLED" = 0 ] || exit 9\n{before}\ncat > "$GOBIN/opa" <<X\n{body}X\n'


class _Releases(BaseHTTPRequestHandler):
    """One release: whole, or cut where the server's ``cut`` says."""

    def do_GET(self) -> None:
        server = self.server
        assert isinstance(server, _Server)
        server.asked.append(self.path)
        self.send_response(200)
        self.send_header("Content-Length", str(len(PROGRAM)))
        self.end_headers()
        self.wfile.write(PROGRAM[: server.cut])

    def log_message(self, format: str, *args: object) -> None:
        """Quiet."""


class _Server(ThreadingHTTPServer):
    cut: int | None = None
    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Releases)
        self.asked: list[str] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


@pytest.fixture
def releases() -> Iterator[_Server]:
    server = _Server()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture(autouse=True)
def _bare(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (home / "bin").mkdir()
    (home / "bin" / "cat").symlink_to("/bin/cat")
    (home / "bin" / "sleep").symlink_to("/bin/sleep")
    monkeypatch.setenv("PATH", str(home / "bin"))
    for name in ("TIPSTAFF_OPA", "TIPSTAFF_OPA_SHA256", "http_proxy", "https_proxy"):
        monkeypatch.delenv(name, raising=False)


def _go(home: Path, body: str, before: str = ":") -> None:
    path = home / "bin" / "go"
    path.write_text(GO.format(body=body, before=before))
    path.chmod(0o755)


def _leftovers() -> list[str]:
    return sorted(path.name for path in program.managed_path().parent.iterdir())


def test_release_with_the_pinned_digest_is_installed(
    releases: _Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TIPSTAFF_OPA_SHA256", hashlib.sha256(PROGRAM).hexdigest().upper())
    said: list[str] = []
    found = program.ensure(said.append, releases=releases.url)
    assert found == Opa(program.managed_path(), program.VERSION)
    assert releases.asked[0].startswith(f"/v{program.VERSION}/opa_linux_")
    assert releases.asked[0].endswith("_static")
    assert said[0].startswith("downloading ")
    assert _leftovers() == ["install.lock", "opa"]


def test_release_with_another_digest_is_never_kept(
    releases: _Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TIPSTAFF_OPA_SHA256", "0" * 64)
    with pytest.raises(DecisionError) as refused:
        program.ensure(print, releases=releases.url)
    assert refused.value.code == "opa.missing"
    assert "the pin is 000" in refused.value.message
    assert _leftovers() == ["install.lock"]


def test_half_a_release_is_never_kept(releases: _Server, monkeypatch: pytest.MonkeyPatch) -> None:
    releases.cut = 10
    monkeypatch.setenv("TIPSTAFF_OPA_SHA256", hashlib.sha256(PROGRAM).hexdigest())
    with pytest.raises(DecisionError) as refused:
        program.ensure(print, releases=releases.url)
    assert refused.value.code == "opa.missing"
    assert _leftovers() == ["install.lock"]


@pytest.mark.parametrize("url", ["http://127.0.0.1:1", "file:///etc", "ftp://127.0.0.1"])
def test_unreachable_release_is_named_in_the_error(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TIPSTAFF_OPA_SHA256", "0" * 64)
    with pytest.raises(DecisionError, match=url):
        program.ensure(print, releases=url)


def test_release_without_a_pin_is_not_even_asked_for(releases: _Server) -> None:
    with pytest.raises(DecisionError) as refused:
        program.ensure(print, releases=releases.url)
    assert releases.asked == []
    for way_out in ("PATH", "TIPSTAFF_OPA", "install Go", program.MINIMUM):
        assert way_out in refused.value.fix


def test_go_builds_where_no_release_can_be_had(home: Path) -> None:
    _go(home, PROGRAM.decode())
    said: list[str] = []
    assert program.ensure(said.append) == Opa(program.managed_path(), program.VERSION)
    assert any("with" in line and "go" in line for line in said)
    assert _leftovers() == ["install.lock", "opa"]


def test_long_build_reports_its_seconds(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tipstaff.pdp.gobuild._REPORT_S", 0.05)
    _go(home, PROGRAM.decode(), before="sleep 0.3")
    said: list[str] = []
    program.ensure(said.append)
    assert any(line.startswith(f"still building OPA {program.VERSION}: 0 s") for line in said)


@pytest.mark.parametrize(
    ("body", "before", "why"),
    [
        (PROGRAM.decode(), "echo no network; exit 1", "no network"),
        ("#!/bin/sh\necho Version: 1.2.3\n", ":", "says it is 1.2.3"),
        ("#!/bin/sh\nexit 3\n", ":", "no OPA"),
        ("", "exit 0", "nothing was installed"),
    ],
)
def test_failed_build_is_never_kept(body: str, before: str, why: str, home: Path) -> None:
    _go(home, body, before)
    with pytest.raises(DecisionError, match=why):
        program.ensure(print)
    assert _leftovers() == ["install.lock"]


def test_two_starts_install_once(home: Path) -> None:
    _go(home, PROGRAM.decode(), before=f'echo x >> "{home}/built"; sleep 0.1')
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda _: program.ensure(lambda line: None), range(4)))
    assert found == [Opa(program.managed_path(), program.VERSION)] * 4
    assert (home / "built").read_text().splitlines() == ["x"]
