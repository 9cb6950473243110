"""The three modes as tests run them: a sidecar on a socket, one in Docker, a remote OPA with TLS and a token."""

from __future__ import annotations

import gc
import hashlib
import json
import os
import signal
import socket
import ssl
import subprocess
import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from support.certificates import CLIENT, write_certificates
from support.sidecars import WIDE_S, wait_until
from support.workshop import Workshop
from tipstaff.engine.faults import freeze
from tipstaff.errors import DecisionError
from tipstaff.pdp import docker_daemon, docker_sidecar, sidecar
from tipstaff.pdp.address import Remote
from tipstaff.pdp.bundle import Bundle
from tipstaff.pdp.client import Client
from tipstaff.pdp.opa import Opa
from tipstaff.pdp.plan import plan
from tipstaff.pdp.remote import RemoteTransport

TOKEN = "a-token-for-tests"
_VARIABLES = {
    "TIPSTAFF_OPA_URL": "url",
    "TIPSTAFF_OPA_TOKEN": "token",
    "TIPSTAFF_OPA_CA": "ca",
    "TIPSTAFF_OPA_CLIENT_CERT": "certificate",
    "TIPSTAFF_OPA_CLIENT_KEY": "key",
}


def demand_docker() -> None:
    """Skip the test, aloud, where no Docker daemon answers; the gate accepts no skip."""
    try:
        with unclosed_sockets():
            docker_daemon.find("nobody")
    except DecisionError as error:
        pytest.skip(f"no Docker daemon: {error.message}")


@contextmanager
def unclosed_sockets() -> Iterator[None]:
    """For a daemon that is not there: the Docker SDK then leaves its socket to the garbage collector."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        try:
            yield
        finally:
            gc.collect()


def name_remote(patch: pytest.MonkeyPatch, remote: Remote) -> None:
    """Set the environment to this remote, and to nothing else."""
    for variable, field in _VARIABLES.items():
        value = getattr(remote, field)
        if value is None:
            patch.delenv(variable, raising=False)
        else:
            patch.setenv(variable, str(value))


class RemoteOpa:
    """A real OPA behind TLS on the signed bundles, in a folder of its own; it can be ended and started again.

    ``settings`` replace parts of its configuration.
    """

    def __init__(
        self,
        folder: Path,
        opa: Opa,
        bundles: Sequence[Bundle],
        *,
        by_certificate: bool = False,
        settings: Mapping[str, Any] | None = None,
    ) -> None:
        # A folder that brings certificates may bring ones that nobody believes.
        self._is_checked = not (folder / "ca.pem").exists()
        if self._is_checked:
            write_certificates(folder)
        with socket.create_server(("127.0.0.1", 0)) as probe:
            self.address = f"127.0.0.1:{probe.getsockname()[1]}"
        listen = [f"--addr={self.address}", "access.json", "--tls-cert-file=server.pem"]
        listen += ["--tls-private-key-file=server.key"]
        listen += (
            ["--authentication=tls", "--tls-ca-cert-file=ca.pem"]
            if by_certificate
            else ["--authentication=token"]
        )
        identity = f"CN={CLIENT}" if by_certificate else TOKEN
        drawn = plan(opa, bundles, str(opa.path), listen)
        for bundle, data in zip(drawn.bundles, drawn.contents, strict=True):
            (folder / f"{bundle.name}.tar.gz").write_bytes(data)
        access = {"identity_sha256": hashlib.sha256(identity.encode()).hexdigest()}
        (folder / "access.json").write_text(json.dumps({"tipstaff-access": access}))
        (folder / "config.json").write_text(json.dumps({**drawn.config, **(settings or {})}))
        self.folder, self._argv = folder, drawn.argv
        self.remote = Remote(
            f"https://{self.address}",
            TOKEN,
            folder / "ca.pem",
            *((folder / "client.pem", folder / "client.key") if by_certificate else ()),
        )
        self._revisions = {bundle.name: bundle.revision for bundle in bundles}
        self.start()

    def start(self) -> None:
        """Start it and wait until it answers, or where that can't be, until it listens."""
        self.process = subprocess.Popen(
            self._argv, cwd=self.folder, env={}, stderr=subprocess.DEVNULL
        )
        wait_until(self._is_ready)

    def end(self) -> None:
        """Kill it."""
        self.process.kill()
        self.process.wait()

    def _is_ready(self) -> bool:
        assert self.process.poll() is None
        if not self._is_checked:
            return self._listens()
        try:
            with Client(
                RemoteTransport(self.remote), revisions=self._revisions, deadline_s=WIDE_S
            ) as client:
                client.check()
        except DecisionError:
            return False
        return True

    def _listens(self) -> bool:
        host, port = self.address.split(":")
        try:
            socket.create_connection((host, int(port)), timeout=1).close()
        except OSError:
            return False
        return True


class Machine(ABC):
    """The engine of one mode under a workshop: how it is stopped, ended and brought back."""

    def __init__(self, workshop: Workshop) -> None:
        self.workshop = workshop

    @abstractmethod
    def freeze(self) -> None:
        """Stop it where it stands."""

    @abstractmethod
    def thaw(self) -> None:
        """Let it go on."""

    @abstractmethod
    def kill(self) -> None:
        """End it."""

    @abstractmethod
    def revive(self) -> None:
        """What a person does to have it back."""


class Embedded(Machine):
    """Comes back by itself."""

    def _pid(self) -> int:
        [running] = sidecar.status(self.workshop.state)
        return running.pid

    def freeze(self) -> None:
        freeze(self._pid())

    def thaw(self) -> None:
        os.kill(self._pid(), signal.SIGCONT)

    def kill(self) -> None:
        os.kill(self._pid(), signal.SIGKILL)
        wait_until(lambda: sidecar.status(self.workshop.state) == [])

    def revive(self) -> None:
        assert self.workshop.run("sidecar", "start").code == 0


class Docker(Machine):
    """The container that this workshop's state folder names."""

    def _id(self) -> str:
        [found] = docker_sidecar.status(self.workshop.state)
        return str(found.record["container"])

    def freeze(self) -> None:
        docker_daemon.pause(self._id())

    def thaw(self) -> None:
        docker_daemon.unpause(self._id())

    def kill(self) -> None:
        docker_daemon.kill(self._id())

    def revive(self) -> None:
        assert self.workshop.run("sidecar", "start", "--mode", "docker").code == 0


class Elsewhere(Machine):
    """A remote one; somebody else looks after it."""

    def __init__(self, workshop: Workshop, served: RemoteOpa) -> None:
        super().__init__(workshop)
        self.served = served

    def freeze(self) -> None:
        freeze(self.served.process.pid)

    def thaw(self) -> None:
        self.served.process.send_signal(signal.SIGCONT)

    def kill(self) -> None:
        self.served.end()

    def revive(self) -> None:
        self.served.start()


def status_of(remote: Remote, method: str, path: str, *, token: str | None, body: bytes) -> int:
    """The status that one request gets over TLS."""
    trust = ssl.create_default_context(cafile=remote.ca)
    said = f"Authorization: Bearer {token}\r\n" if token else ""
    head = f"{method} {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n{said}"
    with (
        socket.create_connection((remote.host, remote.port), timeout=WIDE_S) as plain,
        trust.wrap_socket(plain, server_hostname=remote.host) as peer,
    ):
        peer.sendall(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
        return int(peer.recv(65536).split()[1])
