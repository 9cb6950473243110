"""What the host lays out for a case, and how it sees afterwards that something inside got at it."""

from __future__ import annotations

import os
import secrets
import socket
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tipstaff.errors import ContractError
from tipstaff.sandbox import identity
from tipstaff.sandbox.backend import SCRATCH
from tipstaff.sandbox.escape import cases, kernel_traps
from tipstaff.sandbox.escape.cases import Case
from tipstaff.sandbox.escape.ground import Ground, Ran
from tipstaff.sandbox.escape.survivors import survivors

_NAMES = (
    "plain",
    "link",
    "root-link",
    "linked/secret",
    "hard",
    "pipe",
    "folder",
    "sparse",
    "closed",
)
COLLECTED = tuple(f"{SCRATCH}/{name}" for name in _NAMES)
_HARMLESS = {f"{SCRATCH}/{name}" for name in ("plain", "closed", "sparse")}
_PLANTED = ("scratch", "tmp", "proc", "dev", "usr", "work", "root", "home")
_HOME = (".ssh/id_ed25519", ".aws/credentials", ".netrc", ".config/gh/hosts.yml", ".bash_history")
_VARIABLES = (
    "AWS_SECRET_ACCESS_KEY",
    "GITHUB_TOKEN",
    "SSH_AUTH_SOCK",
    "https_proxy",
    "LD_PRELOAD_X",
)


def _nothing(_: Ran) -> list[str]:
    return []


@dataclass(frozen=True)
class Trap:
    """``address`` is what the program is told, as JSON; ``seen`` looks, after the run, for what got at it."""

    address: Any = None
    seen: Callable[[Ran], list[str]] = _nothing


@contextmanager
def laid(case: Case, ground: Ground) -> Iterator[Trap]:
    """The case's trap, for as long as the context lasts; raises ``ContractError`` for an unknown word."""
    if case.trap is None:
        yield Trap()
        return
    lay = _TRAPS.get(case.trap)
    if lay is None:
        raise ContractError(
            "document.invalid",
            f"no trap is called {case.trap!r}",
            file=str(cases.folder() / f"{case.id.partition('.')[0]}.yaml"),
            field=f"cases.{case.id.partition('.')[2]}.trap",
            fix=f"use one of {', '.join(sorted(_TRAPS))}",
        )
    with ExitStack() as stack:
        yield lay(case, ground, stack)


def _tcp(case: Case, ground: Ground, stack: ExitStack) -> Trap:
    return _listener(stack, socket.AF_INET, ("127.0.0.1", 0))


def _tcp6(case: Case, ground: Ground, stack: ExitStack) -> Trap:
    try:
        return _listener(stack, socket.AF_INET6, ("::1", 0))
    except OSError:
        return _tcp(case, ground, stack)  # a host without ::1 still has the mapped address


def _udp(case: Case, ground: Ground, stack: ExitStack) -> Trap:
    trap = stack.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
    trap.bind(("127.0.0.1", 0))
    trap.setblocking(False)
    return Trap(trap.getsockname()[1], lambda _: _came(lambda: trap.recv(64), "a datagram arrived"))


def _abstract(case: Case, ground: Ground, stack: ExitStack) -> Trap:
    name = f"tipstaff-escape-{secrets.token_hex(8)}"
    trap = _listener(stack, socket.AF_UNIX, f"\0{name}")
    return Trap(name, trap.seen)


def _unix(case: Case, ground: Ground, stack: ExitStack) -> Trap:
    path = ground.outside / case.id / "agent.sock"
    trap = _listener(stack, socket.AF_UNIX, str(path))
    return Trap(str(path), trap.seen)


def _listener(stack: ExitStack, family: int, address: Any) -> Trap:
    trap = stack.enter_context(socket.socket(family, socket.SOCK_STREAM))
    trap.bind(address)
    trap.listen()
    trap.setblocking(False)
    name = trap.getsockname()
    port = name[1] if isinstance(name, tuple) else None
    return Trap(port, lambda _: _came(trap.accept, "the host's listener was reached"))


def _came(look: Callable[[], object], words: str) -> list[str]:
    try:
        came = look()
    except OSError:
        return []
    if isinstance(came, tuple):
        came[0].close()
    return [words]


def _port(case: Case, ground: Ground, stack: ExitStack) -> Trap:
    return Trap(9)


def _bound(case: Case, ground: Ground, stack: ExitStack) -> Trap:
    name = _abstract(case, ground, stack).address
    return Trap({"port": _tcp(case, ground, stack).address, "name": name})


def _victim(case: Case, ground: Ground, stack: ExitStack) -> Trap:
    """A process of whoever the sandbox runs as, with a secret in its command line and its environment."""
    canary = ground.canary(case)
    process = subprocess.Popen(
        ["/bin/sh", "-c", "read -r line", canary],
        stdin=subprocess.PIPE,
        env={"TOKEN": canary},
        cwd="/",
        start_new_session=True,
        **identity.dropped(),
    )

    def end() -> None:
        process.kill()
        process.communicate()

    stack.callback(end)
    return Trap(
        process.pid, lambda _: [] if process.poll() is None else ["a process of the host was ended"]
    )


def _descriptor(case: Case, ground: Ground, stack: ExitStack) -> Trap:
    secret = ground.outside / case.id / "secret"
    secret.write_text(ground.canary(case))
    descriptor = os.open(secret, os.O_RDWR)
    stack.callback(os.close, descriptor)
    os.set_inheritable(descriptor, True)
    return Trap(descriptor)


def _environment(case: Case, ground: Ground, stack: ExitStack) -> Trap:
    before = {name: os.environ.get(name) for name in _VARIABLES}

    def restore() -> None:
        for name, value in before.items():
            os.environ.pop(name, None)
            if value is not None:
                os.environ[name] = value

    stack.callback(restore)
    os.environ.update(dict.fromkeys(_VARIABLES, ground.canary(case)))
    return Trap()


def _home(case: Case, ground: Ground, stack: ExitStack) -> Trap:
    for name in _HOME:
        file = ground.outside / case.id / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(ground.canary(case))
    return Trap(list(_HOME))


def _shared_folder(folder: str) -> Callable[[Case, Ground, ExitStack], Trap]:
    def lay(case: Case, ground: Ground, stack: ExitStack) -> Trap:
        stem = Path(folder or tempfile.gettempdir(), f"tipstaff-escape-{secrets.token_hex(8)}")
        left = stem.with_name(f"{stem.name}-left")
        stack.callback(left.unlink, missing_ok=True)
        if stem.parent.is_dir() and os.access(stem.parent, os.W_OK):
            stack.callback(stem.unlink, missing_ok=True)
            stem.write_text(ground.canary(case))
            stem.chmod(0o644)
        seen = f"a file was left in {stem.parent}"
        return Trap(
            {"secret": str(stem), "left": str(left)}, lambda _: [seen] if left.exists() else []
        )

    return lay


def _collected(case: Case, ground: Ground, stack: ExitStack) -> Trap:
    secret = ground.outside / case.id / "secret"
    secret.write_text(ground.canary(case))

    def seen(ran: Ran) -> list[str]:
        strange = sorted(set(ran.outputs) - _HARMLESS)
        return [f"taken: {name}" for name in strange]

    return Trap({"secret": str(secret)}, seen)


def _planted(case: Case, ground: Ground, stack: ExitStack) -> Trap:
    target = ground.outside / case.id
    for number, name in enumerate(_PLANTED):
        (ground.input / name).symlink_to(target if number % 2 else Path(f"/oldroot{target}"))
    return Trap()


def _persistence(case: Case, ground: Ground, stack: ExitStack) -> Trap:
    names = cases.suite().persistent
    for name in names[::2]:
        for place in (ground.input, ground.outside):
            file = place / case.id / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text("as it was\n")
    return Trap(names)


def _route(case: Case, ground: Ground, stack: ExitStack) -> Trap:
    (ground.outside / case.id / "secret").write_text(ground.canary(case))
    return _tcp(case, ground, stack)


def _marker(case: Case, ground: Ground, stack: ExitStack) -> Trap:
    marker = f"tipstaff-escape-{secrets.token_hex(8)}"
    return Trap(marker, lambda _: [f"process {pid} was left" for pid in survivors(marker)])


def _of_the_kernel(
    lay: Callable[[str, ExitStack], Any],
) -> Callable[[Case, Ground, ExitStack], Trap]:
    return lambda case, ground, stack: Trap(lay(ground.canary(case), stack))


def _terminal(case: Case, ground: Ground, stack: ExitStack) -> Trap:
    name, heard = kernel_traps.terminal(stack)
    return Trap(name, lambda _: ["something was put into a terminal"] if heard() else [])


_TRAPS: dict[str, Callable[[Case, Ground, ExitStack], Trap]] = {
    "abstract": _abstract,
    "bound": _bound,
    "collected": _collected,
    "descriptor": _descriptor,
    "dev_shm": _shared_folder("/dev/shm"),  # noqa: S108 (a name of random letters in it)
    "environment": _environment,
    "home": _home,
    "keyring": _of_the_kernel(kernel_traps.keyring),
    "marker": _marker,
    "mqueue": _of_the_kernel(kernel_traps.message_queue),
    "persistence": _persistence,
    "planted": _planted,
    "port": _port,
    "route": _route,
    "sysv": _of_the_kernel(kernel_traps.shared_memory),
    "tcp": _tcp,
    "tcp6": _tcp6,
    "terminal": _terminal,
    "tmp": _shared_folder(""),
    "udp": _udp,
    "unix": _unix,
    "victim": _victim,
}
