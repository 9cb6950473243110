"""A client of the socket by which gVisor's sandbox process is told what to do: one JSON object a call, one back."""

from __future__ import annotations

import json
import os
import socket
from typing import Any

from tipstaff.errors import SandboxError

_CHUNK_BYTES = 1 << 16
_MAX_BYTES = 1 << 20
_MAX_DESCRIPTORS = 4
_FIX = "use the pinned version: run `tipstaff sandbox install gvisor`, and unset TIPSTAFF_RUNSC"


def limit_processes(path: str, cgroup: str, processes: int, *, timeout_s: float) -> None:
    """Cap the guest's processes and threads, by its own kernel's cgroup; raises ``SandboxError`` if that fails.

    ``path`` is the socket's; ``cgroup`` is a path inside the guest.
    """
    file = {"controller": "pids", "path": cgroup, "name": "pids.max"}
    wanted = {"args": [{"file": file, "value": str(processes)}]}
    try:
        answer = _call(path, "Cgroups.WriteControlFiles", wanted, timeout_s)
        [result] = answer["result"]["results"]
        refused = result["value"] if result["is_error"] else None
    except (OSError, ValueError, LookupError, TypeError) as error:
        refused = str(error) or type(error).__name__
    if refused is not None:
        raise SandboxError(
            "sandbox.setup",
            f"gvisor: the processes of a run cannot be limited: {refused}",
            fix=_FIX,
        )


def open_memory(path: str, *, timeout_s: float) -> int:
    """A descriptor of the file that holds all memory of the guest: the blocks that it has are what the guest uses.

    Raises ``SandboxError`` if there is none.
    """
    received: list[int] = []
    try:
        _call(path, "Usage.UsageFD", {"Version": 1}, timeout_s, received)
        *others, memory = received
    except (OSError, ValueError) as error:
        others, memory, refused = received, None, str(error)
    for descriptor in others:
        os.close(descriptor)
    if memory is None:
        raise SandboxError(
            "sandbox.setup", f"gvisor: the memory of a run cannot be measured: {refused}", fix=_FIX
        )
    return memory


def _call(
    path: str,
    method: str,
    argument: dict[str, Any],
    timeout_s: float,
    received: list[int] | None = None,
) -> dict[str, Any]:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as peer:
        peer.settimeout(timeout_s)
        peer.connect(path)
        peer.sendall(json.dumps({"method": method, "arg": argument}).encode())
        answer = b""
        while len(answer) < _MAX_BYTES:
            chunk, descriptors, _, _ = socket.recv_fds(peer, _CHUNK_BYTES, _MAX_DESCRIPTORS)
            if received is not None:
                received += descriptors
            if not chunk:
                break
            answer += chunk
            try:
                value = json.loads(answer)
            except ValueError:
                continue
            if isinstance(value, dict) and value.get("success") is True:
                return value
            raise ValueError(f"{method} was refused: {str(value)[:200]}")
    raise ValueError(f"{method} was not answered")
