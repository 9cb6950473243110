"""An OPA server on which tests of mutants are evaluated, without a new program for each.

It holds a tree of policy, lets one file be replaced, and says what each test of a package comes to. It listens on a
socket in a private folder and ends with its block.
"""

from __future__ import annotations

import http.client
import json
import os
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from socket import AF_UNIX, SOCK_STREAM
from socket import socket as Connection
from tempfile import TemporaryDirectory
from types import TracebackType
from typing import Any
from urllib.parse import quote

from tipstaff.authoring.policy_tree import Package
from tipstaff.errors import DecisionError
from tipstaff.pdp.opa import Opa

_HARNESS = "tipstaff_mutation"
_SOCKET = "opa.sock"
_START_S = 30.0
_ANSWER_S = 60.0
_LOOK_S = 0.005
# One processor a server: several work side by side. Less collecting of garbage is a fifth less time.
_ENVIRONMENT = {"GOMAXPROCS": "1", "GOGC": "400"}


class OpaServer:
    """``files`` are the tree's, by their paths below it; ``tests`` the names of the tests of each package.

    ``test_s`` is how long one test may take, in seconds. Raises ``DecisionError`` (``opa.failed``)
    when the server does not start, or answers what it never should.
    """

    def __init__(
        self,
        opa: Opa,
        files: Mapping[str, str],
        tests: Mapping[Package, Sequence[str]],
        *,
        test_s: float,
    ) -> None:
        self._opa = opa
        self._files = files
        self._tests = tests
        self._test_s = test_s
        self._folder: TemporaryDirectory[str] | None = None
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> OpaServer:
        self._folder = TemporaryDirectory(prefix="tipstaff-opa-")
        tree = Path(self._folder.name)
        for path, text in {**self._files, f"{_HARNESS}.rego": harness(self._tests)}.items():
            target = tree / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text, encoding="utf-8")
        try:
            self._start()
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stop()
        assert self._folder is not None  # noqa: S101  entered before
        self._folder.cleanup()

    def put_module(self, path: str, text: str) -> bool:
        """Replace a Rego file; False when the whole does not compile with it, and nothing is replaced."""
        status, body = self._send("PUT", f"/v1/policies/{quote(path)}", text.encode())
        if status not in (200, 400):
            raise self._failure(f"status {status}: {body[:500].decode(errors='replace')}")
        return status == 200

    def put_data(self, path: Package, values: Mapping[str, Any], gone: Sequence[str]) -> None:
        """Replace and remove values below a path."""
        for key, value in values.items():
            self._change("PUT", (*path, key), json.dumps(value).encode())
        for key in gone:
            self._change("DELETE", (*path, key), b"")

    def answer(self, package: Package, test: str) -> Any:
        """What a test comes to; None when it is undefined, fails with an error, or takes too long.

        Each is a question of its own, as in `opa test`: within one, OPA remembers what functions answered.
        """
        place = "/".join(quote(part, safe="") for part in (".".join(package), test))
        try:
            status, body = self._send(
                "POST", f"/v1/data/{_HARNESS}/answers/{place}", b"{}", self._test_s
            )
        except TimeoutError:
            self._stop()
            self._start()
            return None
        return json.loads(body).get("result") if status == 200 else None

    def _change(self, method: str, path: Package, body: bytes) -> None:
        place = "/".join(quote(part, safe="") for part in path)
        status, said = self._send(method, f"/v1/data/{place}", body)
        if status not in (200, 204):
            raise self._failure(f"status {status}: {said[:500].decode(errors='replace')}")

    def _start(self) -> None:
        assert self._folder is not None  # noqa: S101  entered before
        self._socket = Path(self._folder.name, _SOCKET)
        self._socket.unlink(missing_ok=True)
        argv = [str(self._opa.path.absolute()), "run", "--server", f"--addr=unix://{_SOCKET}"]
        argv += ["--unix-socket-perm=600", "--log-level=error", "--skip-version-check"]
        self._said = Path(self._folder.name, "said")
        with self._said.open("wb") as said:
            self._process = subprocess.Popen(
                [*argv, "--shutdown-grace-period=1", "."],
                cwd=self._folder.name,
                env=_ENVIRONMENT,
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=said,
            )
        deadline = time.monotonic() + _START_S
        while not self._is_up():
            if self._process.poll() is not None or time.monotonic() > deadline:
                raise self._failure(self._said.read_text(errors="replace")[-2000:])
            time.sleep(_LOOK_S)

    def _is_up(self) -> bool:
        try:
            return self._send("GET", "/health", b"")[0] == 200
        except OSError:
            return False

    def _stop(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def _send(
        self, method: str, path: str, body: bytes, wait_s: float = _ANSWER_S
    ) -> tuple[int, bytes]:
        connection = _UnixConnection(self._socket, wait_s)
        try:
            connection.request(method, path, body, {"Content-Type": "application/json"})
            answer = connection.getresponse()
            return answer.status, answer.read()
        finally:
            connection.close()

    def _failure(self, why: str) -> DecisionError:
        return DecisionError(
            "opa.failed",
            f"the server that evaluates mutants failed: {' '.join(why.split())}",
            file=str(self._opa.path),
            fix="run `tipstaff policy test`; what it says is to be corrected first",
        )


def harness(tests: Mapping[Package, Sequence[str]]) -> str:
    """A module that answers for each test by name, so that nothing else of a test's package is asked for."""
    lines = [f"package {_HARNESS}", ""]
    for package, names in tests.items():
        place = "".join(f"[{json.dumps(part)}]" for part in package)
        lines += [
            f"answers[{json.dumps('.'.join(package))}][{json.dumps(name)}] := data{place}.{name}"
            for name in names
        ]
    return "\n".join(lines) + "\n"


class _UnixConnection(http.client.HTTPConnection):
    def __init__(self, path: Path, wait_s: float) -> None:
        super().__init__("opa", timeout=wait_s)
        self._path = path

    def connect(self) -> None:
        """Through the folder's descriptor: the address is short however long the path is."""
        folder = os.open(self._path.parent, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            self.sock = Connection(AF_UNIX, SOCK_STREAM)
            self.sock.settimeout(self.timeout)
            self.sock.connect(f"/proc/self/fd/{folder}/{self._path.name}")
        except OSError:
            self.sock.close()
            raise
        finally:
            os.close(folder)
