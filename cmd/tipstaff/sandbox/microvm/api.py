"""Firecracker's API: what a machine needs as requests, and a client of the socket that takes them."""

from __future__ import annotations

import http.client
import json
import os
import socket
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tipstaff.documents.text import visible
from tipstaff.errors import SandboxError
from tipstaff.sandbox.microvm.machine import INITRAMFS, KERNEL, Machine

GUEST_CID = 3
CHANNEL_PORT = 1024
SOCKET = "api.socket"
VSOCK = "vsock"
_POLL_S = 0.005
_MAX_ANSWER_BYTES = 1 << 16


def requests(machine: Machine) -> list[tuple[str, dict[str, Any]]]:
    """Every ``PUT``, in order, that configures a machine; the last starts it. None makes a network interface."""
    return [
        (
            "/machine-config",
            {"vcpu_count": 1, "mem_size_mib": machine.memory_mib, "smt": False},
        ),
        (
            "/boot-source",
            {
                "kernel_image_path": KERNEL,
                "initrd_path": INITRAMFS,
                "boot_args": machine.boot_args,
            },
        ),
        *(
            (
                f"/drives/{name}",
                {
                    "drive_id": name,
                    "path_on_host": name,
                    "is_root_device": False,
                    "is_read_only": True,
                },
            )
            for name in machine.drives
        ),
        ("/vsock", {"guest_cid": GUEST_CID, "uds_path": VSOCK}),
        ("/actions", {"action_type": "InstanceStart"}),
    ]


class Api:
    """A client of one Firecracker; ``folder`` is where its socket appears."""

    def __init__(self, folder: Path, *, wait_s: float) -> None:
        self._folder = folder
        self._wait_s = wait_s

    def await_socket(self, has_ended: Callable[[], bool]) -> None:
        """Return as soon as it answers; raises ``SandboxError`` if it ends before or does not in time."""
        deadline = time.monotonic() + self._wait_s
        while time.monotonic() < deadline and not has_ended():
            try:
                self.get("/")
            except OSError:
                time.sleep(_POLL_S)
            else:
                return
        raise SandboxError(
            "sandbox.setup",
            "firecracker does not serve its API socket",
            fix="run `firecracker --api-sock <path>` by hand; it says what is missing",
        )

    def get(self, path: str) -> dict[str, Any]:
        """The answer to a ``GET``; raises ``OSError`` if there is none."""
        return self._ask("GET", path, None)[1]

    def configure(self, machine: Machine) -> None:
        """Send every request of a machine; raises ``SandboxError`` with Firecracker's words for one it refuses."""
        for path, body in requests(machine):
            try:
                status, answer = self._ask("PUT", path, body)
            except OSError as error:
                raise _refused(path, str(error)) from error
            if status != http.HTTPStatus.NO_CONTENT:
                raise _refused(path, str(answer.get("fault_message", f"status {status}")))

    def _ask(
        self, method: str, path: str, body: dict[str, Any] | None
    ) -> tuple[int, dict[str, Any]]:
        connection = _Connection(self._folder, self._wait_s)
        try:
            headers = {"Content-Type": "application/json", "Accept": "application/json"}
            connection.request(method, path, None if body is None else json.dumps(body), headers)
            answer = connection.getresponse()
            data = answer.read(_MAX_ANSWER_BYTES)
        except http.client.HTTPException as error:
            raise OSError(f"its answer is no HTTP: {error!r}") from error
        finally:
            connection.close()
        try:
            value = json.loads(data) if data else {}
        except ValueError:
            value = {}
        return answer.status, value if isinstance(value, dict) else {}


def _refused(path: str, words: str) -> SandboxError:
    said = visible(words, limit=300)
    if "kvm" in words.lower():
        return SandboxError(
            "sandbox.unavailable",
            f"firecracker cannot use /dev/kvm: {said}",
            fix="run on a machine, or in a VM with nested virtualisation, whose /dev/kvm works",
        )
    return SandboxError(
        "sandbox.setup",
        f"firecracker refuses PUT {path}: {said}",
        fix="use a firecracker of a version that this tipstaff was tried with (1.17)",
    )


class _Connection(http.client.HTTPConnection):
    def __init__(self, folder: Path, wait_s: float) -> None:
        super().__init__("localhost", timeout=wait_s)
        self._folder = folder

    def connect(self) -> None:
        """Through the folder's descriptor: the address is short however long the path is."""
        folder = os.open(self._folder, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            self.sock.settimeout(self.timeout)
            self.sock.connect(f"/proc/self/fd/{folder}/{SOCKET}")
        except OSError:
            self.sock.close()
            raise
        finally:
            os.close(folder)
