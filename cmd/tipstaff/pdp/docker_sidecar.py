"""The sidecar as a container: the same OPA and the same bundles behind a loopback port, TLS and a token of its own.

There is one for each state folder. Once started it is the one that answers: its record stays in the state folder until
``stop``, and while it stands there no other engine takes its place. Nothing but ``stop`` ends the container; it doesn't
retire when idle and doesn't come back after a reboot.

A port, unlike a socket, can be taken by another process once OPA has gone. So the container has a key that was made for
it, the client believes nothing else, and the token goes only to who holds that key.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import shutil
import socket
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tipstaff.documents.text import visible
from tipstaff.errors import DecisionError
from tipstaff.files import read_regular, write_atomically
from tipstaff.pdp import docker_daemon as daemon
from tipstaff.pdp.address import Remote
from tipstaff.pdp.bundle import Bundle, check
from tipstaff.pdp.certificate import write_pinned
from tipstaff.pdp.client import Client
from tipstaff.pdp.mode import docker_record
from tipstaff.pdp.opa import Opa
from tipstaff.pdp.places import check_closed, closed_folder, held
from tipstaff.pdp.plan import Plan, plan
from tipstaff.pdp.remote import RemoteTransport

START = "tipstaff sidecar start --mode docker"
_ACCESS = "tipstaff-access"
_FACTS = ("identity", "container", "url", "opa_version", "revisions")
_MAX_RECORD_BYTES = 64 << 10
_LOOK_S = 0.02
_CHECK_S = 2.0
_LISTEN = [
    f"--addr=0.0.0.0:{daemon.PORT}",
    "--authentication=token",
    "--tls-cert-file=server.pem",
    "--tls-private-key-file=server.key",
    "--min-tls-version=1.3",
    "access.json",
]


@dataclass(frozen=True)
class DockerStatus:
    """The container as the daemon shows it (None where it has gone), whether it answers, what it was started on."""

    container: daemon.Container | None
    is_ready: bool
    record: dict[str, Any]


@dataclass(frozen=True)
class DockerSidecar:
    """A container that answered for these bundles when it was started, and how it is reached."""

    container: str
    url: str
    folder: Path
    bundles: tuple[Bundle, ...]
    opa_version: str

    def client(self, *, deadline_s: float) -> Client:
        """A client that accepts answers of exactly these bundles, from exactly this container."""
        revisions = {bundle.name: bundle.revision for bundle in self.bundles}
        return Client(
            DockerTransport(self.remote()),
            revisions=revisions,
            deadline_s=deadline_s,
        )

    def remote(self) -> Remote:
        """Its address, its token, and the one certificate that it has."""
        return _remote(self.folder, self.url)


class DockerTransport(RemoteTransport):
    """The transport to a container; what keeps it from answering is repaired by starting it again."""

    def post(self, path: str, body: bytes, deadline: float) -> tuple[int, bytes]:
        """As every transport."""
        try:
            return super().post(path, body, deadline)
        except DecisionError as error:
            if error.code in ("engine.unavailable", "engine.certificate"):
                error.fix = f"run `{START}`, or `tipstaff sidecar stop` to go back to embedded"
            raise


def join(state: Path, opa: Opa, bundles: Sequence[Bundle]) -> DockerSidecar:
    """The container that was started for this OPA's version and these bundles; asks neither it nor the daemon.

    Raises ``DecisionError`` (``engine.not_ready``) where another one was, or its record can't be used.
    """
    folder, record = docker_record(state).parent, _read(state)
    if record.get("identity") != _plan(opa, bundles).identity:
        raise _not_ready(folder, "the sidecar in Docker runs other bundles or another OPA")
    return DockerSidecar(
        record["container"], record["url"], folder, tuple(bundles), record["opa_version"]
    )


def start(
    state: Path, opa: Opa, bundles: Sequence[Bundle], *, deadline_s: float = 20.0
) -> DockerSidecar:
    """Join the container that answers for these bundles, or start one in the place of any older one.

    Raises ``DecisionError``: ``docker.*``, ``engine.not_ready`` with OPA's own words, ``bundle.signature``.
    """
    closed_folder(state)
    folder = closed_folder(docker_record(state).parent)
    with held(folder / "lock", timeout_s=2 * deadline_s):
        if docker_record(state).exists():
            try:
                found = join(state, opa, bundles)
                with found.client(deadline_s=_CHECK_S) as client:
                    client.check()
                return found
            except DecisionError:
                pass  # it is replaced
        return _start(state, _plan(opa, bundles), deadline_s)


def status(state: Path) -> list[DockerStatus]:
    """The container that was started for this state folder; none where none was."""
    if not docker_record(state).exists():
        return []
    record = _read(state)
    for found in daemon.find(owner(state)):
        if found.id == record["container"]:
            return [DockerStatus(found, found.is_running and _answers(state, record), record)]
    return [DockerStatus(None, False, record)]


def _answers(state: Path, record: dict[str, Any]) -> bool:
    remote = _remote(docker_record(state).parent, record["url"])
    try:
        with Client(
            DockerTransport(remote), revisions=record["revisions"], deadline_s=_CHECK_S
        ) as client:
            client.check()
    except DecisionError:
        return False
    return True


def stop(state: Path) -> int:
    """End the container and forget it, so that decisions are embedded again; returns how many were running."""
    folder = docker_record(state).parent
    if not folder.is_dir():
        return 0
    with held(folder / "lock", timeout_s=60.0):
        # The token stands before the container runs, so one that was cut off while starting is found, too.
        has_begun = docker_record(state).exists() or (folder / "token").exists()
        count = daemon.remove(owner(state)) if has_begun else 0
        _clear(folder)
    return count


def owner(state: Path) -> str:
    """What the label of this state folder's containers says: user, machine and place, digested."""
    place = f"{os.geteuid()}\0{socket.gethostname()}\0{state.resolve()}"
    return hashlib.sha256(place.encode()).hexdigest()[:32]


def _remote(folder: Path, url: str) -> Remote:
    try:
        token = read_regular(folder / "token", limit=1024, owned=True).decode("ascii")
    except (OSError, ValueError) as error:
        raise _not_ready(folder, f"the token can't be read: {error}") from error
    return Remote(url, token, folder / "served" / "server.pem")


def _plan(opa: Opa, bundles: Sequence[Bundle]) -> Plan:
    return plan(opa, bundles, "/opa", _LISTEN)


def _start(state: Path, drawn: Plan, deadline_s: float) -> DockerSidecar:
    folder, name = docker_record(state).parent, owner(state)
    image = daemon.build_image(drawn.opa.path)
    daemon.remove(name)
    _clear(folder)
    _lay_out(folder, drawn)
    container = daemon.run(image, drawn.argv[1:], (folder / "served").resolve(), name)
    try:
        url = f"https://127.0.0.1:{container.port}"
        found = DockerSidecar(container.id, url, folder, drawn.bundles, drawn.opa.version)
        _await(found, deadline_s)
    except BaseException:
        daemon.remove(name)
        _clear(folder)
        raise
    record = {
        "identity": drawn.identity,
        "container": container.id,
        "url": url,
        "opa_version": drawn.opa.version,
        "revisions": {bundle.name: bundle.revision for bundle in drawn.bundles},
    }
    write_atomically(docker_record(state), json.dumps(record).encode())
    return found


def _lay_out(folder: Path, drawn: Plan) -> None:
    """Write what the container sees. Its user is not ours, so the files are open; the folder above them is not."""
    served = folder / "served"
    served.mkdir()
    served.chmod(0o755)
    for bundle, data in zip(drawn.bundles, drawn.contents, strict=True):
        check(bundle, data)
        write_atomically(served / f"{bundle.name}.tar.gz", data, mode=0o644)
    token = secrets.token_urlsafe(32)
    write_atomically(folder / "token", token.encode("ascii"))
    access = {_ACCESS: {"identity_sha256": hashlib.sha256(token.encode("ascii")).hexdigest()}}
    for name, value in (("access.json", access), ("config.json", drawn.config)):
        write_atomically(served / name, json.dumps(value).encode(), mode=0o644)
    write_pinned(served, "127.0.0.1")


def _await(found: DockerSidecar, deadline_s: float) -> None:
    deadline = time.monotonic() + deadline_s
    while True:
        try:
            with found.client(deadline_s=max(0.0, deadline - time.monotonic())) as client:
                return client.check()
        except DecisionError as error:
            running = [one for one in daemon.find(owner(found.folder.parent)) if one.is_running]
            if running and time.monotonic() < deadline:
                time.sleep(_LOOK_S)
                continue
            said = visible(daemon.words(found.container).strip(), limit=2000)
            why = f"the container did not become ready: {error.message} ({error.code})"
            raise _not_ready(found.folder, f"{why}; OPA said: {said}" if said else why) from error


def _read(state: Path) -> dict[str, Any]:
    file = docker_record(state)
    try:
        check_closed(file.parent)
        value = json.loads(read_regular(file, limit=_MAX_RECORD_BYTES, owned=True))
        return {key: value[key] for key in _FACTS}
    except (OSError, ValueError, LookupError, TypeError) as error:
        why = f"the record of the sidecar in Docker can't be used: {error}"
        raise _not_ready(file.parent, why) from error


def _clear(folder: Path) -> None:
    """Forget everything but the lock, the record first."""
    (folder / "sidecar.json").unlink(missing_ok=True)
    (folder / "token").unlink(missing_ok=True)
    if (folder / "served").exists():
        shutil.rmtree(folder / "served")


def _not_ready(folder: Path, why: str) -> DecisionError:
    return DecisionError(
        "engine.not_ready",
        why,
        file=str(folder),
        fix=f"run `{START}`, or `tipstaff sidecar stop` to go back to embedded",
    )
