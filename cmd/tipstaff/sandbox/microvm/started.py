"""A started machine: its process, its console's last words, and its end, which leaves nothing."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tipstaff.documents.text import visible
from tipstaff.errors import SandboxError
from tipstaff.sandbox import identity
from tipstaff.sandbox.microvm.channel import Channel

_TAIL_CHUNKS = 64
_CHUNK_BYTES = 1024
_POLL_S = 0.1
# The kernel ends the machine with the thread that started it, however that ends.
BOUND_TO_US = ("setpriv", "--pdeathsig", "KILL", "--")


@dataclass(frozen=True)
class Started:
    """A machine's process with its console."""

    process: subprocess.Popen[bytes]
    console: deque[bytes]

    def has_ended(self) -> bool:
        """Whether the machine's process is gone."""
        return self.process.poll() is not None

    def last_words(self) -> str:
        """The end of what the console printed."""
        return visible(b"".join(self.console).decode("utf-8", "replace").strip()[-400:])


@contextmanager
def started(line: Sequence[str], folder: Path, *, dropped: bool = True) -> Iterator[Started]:
    """Start a machine in ``folder``, as uid 65534 if we are root and it does not drop that right itself.

    Raises ``SandboxError`` if it cannot be executed. Its process group is gone afterwards.
    """
    try:
        process = subprocess.Popen(
            [*BOUND_TO_US, *line],
            cwd=folder,
            env={"PATH": os.environ.get("PATH", os.defpath)},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            **(identity.dropped() if dropped else {}),
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise SandboxError(
            "sandbox.setup",
            f"{line[0]} cannot be started: {error}",
            fix="install it, and setpriv of util-linux; as root, allow changing to uid 65534",
        ) from error
    console: deque[bytes] = deque(maxlen=_TAIL_CHUNKS)
    reader = threading.Thread(target=_read, args=(process, console), daemon=True)
    reader.start()
    try:
        yield Started(process, console)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        reader.join(timeout=1.0)
        assert process.stdout is not None  # noqa: S101 (it is a pipe)
        process.stdout.close()


def _read(process: subprocess.Popen[bytes], console: deque[bytes]) -> None:
    assert process.stdout is not None  # noqa: S101 (it is a pipe)
    with contextlib.suppress(OSError, ValueError):
        while chunk := os.read(process.stdout.fileno(), _CHUNK_BYTES):
            console.append(chunk)


@contextmanager
def listening(folder: Path, name: str) -> Iterator[socket.socket]:
    """A socket in a machine's folder that its hypervisor connects to for the guest."""
    descriptor = os.open(folder, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
            listener.bind(f"/proc/self/fd/{descriptor}/{name}")
            if identity.is_real_root():
                os.chown(folder / name, identity.NOBODY, identity.NOBODY)
            listener.listen(1)
            listener.settimeout(_POLL_S)
            yield listener
    finally:
        os.close(descriptor)


@contextmanager
def met(
    listener: socket.socket, machine: Started, is_cancelled: Callable[[], bool], *, within_s: float
) -> Iterator[Channel]:
    """The one connection of the guest; nobody else is listened to after it."""
    deadline = time.monotonic() + within_s
    while time.monotonic() < deadline and not machine.has_ended() and not is_cancelled():
        try:
            stream, _ = listener.accept()
        except TimeoutError:
            continue
        listener.close()
        with stream:
            yield Channel(stream, is_cancelled)
        return
    state = "ended" if machine.has_ended() else f"did not answer in {within_s:g} s"
    raise SandboxError(
        "sandbox.setup",
        f"the machine {state}: {machine.last_words() or 'it said nothing'}",
        fix="use a kernel with virtio over MMIO, ACPI and a serial console, on a machine less loaded",
    )
