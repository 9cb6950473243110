"""What the Docker daemon does for a sidecar: one image with nothing in it but OPA, and one container closed all round.

Everything goes through the Docker SDK, which is imported here and only when a function is called. A failure of any kind
raises ``DecisionError`` (``docker.*``).
"""

from __future__ import annotations

import hashlib
import io
import struct
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

from tipstaff.errors import DecisionError
from tipstaff.pdp.opa import VERSION

REPOSITORY = "tipstaff-opa"
LABEL = "io.github.tipstaff.state"
PORT = 8181
SERVED = "/policy"
USER = "65534:65534"
_TIMEOUT_S = 60
_INTERPRETER = 3
_CHANGES = [f"USER {USER}", f"WORKDIR {SERVED}", 'ENTRYPOINT ["/opa"]', f"EXPOSE {PORT}"]
# What no setting of a user can widen: the container writes nothing, gains nothing, and can't exhaust the machine.
_CLOSED: dict[str, Any] = {
    "user": USER,
    "read_only": True,
    "cap_drop": ["ALL"],
    "security_opt": ["no-new-privileges:true"],
    "mem_limit": "1g",
    "memswap_limit": "1g",
    "pids_limit": 256,
    "ipc_mode": "none",
    "network_mode": "bridge",
    "log_config": {"type": "json-file", "config": {"max-size": "1m", "max-file": "1"}},
}


@dataclass(frozen=True)
class Container:
    """One container: its id, the host's port that leads to it (0 while none does), its process id, its state."""

    id: str
    port: int
    pid: int
    is_running: bool


def build_image(program: Path) -> str:
    """Make the image that holds just this program, once for each content; returns its tag.

    Raises ``DecisionError`` (``docker.program``) for a program that would need libraries, and as the daemon fails.
    """
    _demand_static(program)
    with program.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    tag = f"{REPOSITORY}:{digest[:32]}"
    with _daemon() as daemon:
        if not daemon.images.list(name=tag):
            with TemporaryFile() as layer:
                _write_layer(layer, program)
                daemon.api.import_image(
                    src=layer,
                    repository=REPOSITORY,
                    tag=digest[:32],
                    changes=_CHANGES,
                )
    return tag


def run(image: str, arguments: list[str], served: Path, owner: str) -> Container:
    """Start a container of the image that sees ``served``, read-only, and is reached on a random loopback port."""
    with _daemon() as daemon:
        container = daemon.containers.run(
            image,
            arguments,
            detach=True,
            labels={LABEL: owner},
            ports={f"{PORT}/tcp": ("127.0.0.1", None)},
            volumes={str(served): {"bind": SERVED, "mode": "ro"}},
            working_dir=SERVED,
            **_CLOSED,
        )
        return _described(container)


def find(owner: str) -> list[Container]:
    """The containers that bear our label with this owner, running or not."""
    with _daemon() as daemon:
        return [_described(container) for container in _of(daemon, owner)]


def remove(owner: str) -> int:
    """End and remove every container of this owner, and no other; returns how many were running."""
    running = 0
    with _daemon() as daemon:
        for container in _of(daemon, owner):
            running += container.status == "running"
            container.remove(force=True)
    return running


def pause(identity: str) -> None:
    """Stop every process in the container until it is killed or goes on."""
    with _daemon() as daemon:
        daemon.containers.get(identity).pause()


def unpause(identity: str) -> None:
    """Let a paused container go on."""
    with _daemon() as daemon:
        daemon.containers.get(identity).unpause()


def kill(identity: str) -> None:
    """End the container at once."""
    with _daemon() as daemon:
        daemon.containers.get(identity).kill()


def words(identity: str, *, limit: int = 2000) -> str:
    """What the container said last."""
    with _daemon() as daemon:
        said: bytes = daemon.containers.get(identity).logs(tail=20)
    return said[-limit:].decode("utf-8", "replace")


def _of(daemon: Any, owner: str) -> list[Any]:
    listed: list[Any] = daemon.containers.list(all=True, filters={"label": f"{LABEL}={owner}"})
    return listed


def _described(container: Any) -> Container:
    container.reload()
    network = container.attrs["NetworkSettings"]["Ports"] or {}
    published = network.get(f"{PORT}/tcp") or [{"HostPort": "0"}]
    return Container(
        id=str(container.id),
        port=int(published[0]["HostPort"]),
        pid=int(container.attrs["State"].get("Pid") or 0),
        is_running=container.status == "running",
    )


@contextmanager
def _daemon() -> Iterator[Any]:
    import docker
    from docker.errors import DockerException
    from requests import RequestException

    has_answered = False
    try:
        client = docker.from_env(timeout=_TIMEOUT_S)
        try:
            client.ping()
            has_answered = True
            yield client
        finally:
            client.close()
    except (DockerException, RequestException, OSError) as error:
        raise _failure(error, has_answered=has_answered) from error


def _failure(error: Exception, *, has_answered: bool) -> DecisionError:
    said = str(error)
    if has_answered:
        return DecisionError(
            "docker.failed",
            f"the Docker daemon did not do what it was asked: {said}",
            fix="see the daemon's own words; `docker info` shows how it is set up",
        )
    if "PermissionError" in said or isinstance(error, PermissionError):
        return DecisionError(
            "docker.permission",
            f"this user may not speak to the Docker daemon: {said}",
            fix="run as a user of the daemon's group, or use rootless Docker and set DOCKER_HOST",
        )
    return DecisionError(
        "docker.unreachable",
        f"no Docker daemon answers: {said}",
        fix="start the daemon (`systemctl start docker`), or set DOCKER_HOST to its socket",
    )


def _write_layer(layer: Any, program: Path) -> None:
    """The image's one layer: the program, owned by root, and the empty folder that bundles are shown in."""
    with tarfile.open(fileobj=layer, mode="w") as archive:
        folder = tarfile.TarInfo(SERVED.strip("/"))
        folder.type, folder.mode = tarfile.DIRTYPE, 0o755
        archive.addfile(folder, io.BytesIO())
        entry = tarfile.TarInfo("opa")
        entry.mode, entry.size = 0o755, program.stat().st_size
        with program.open("rb") as file:
            archive.addfile(entry, file)
    layer.seek(0)


def _demand_static(program: Path) -> None:
    """An image from scratch has no loader: a program that names one can't start in it."""
    try:
        with program.open("rb") as file:
            head = file.read(64)
            offset, size, count = (
                *struct.unpack_from("<Q", head, 32),
                *struct.unpack_from("<HH", head, 54),
            )
            file.seek(offset)
            table = file.read(size * count)
        is_elf = head[:6] == b"\x7fELF\x02\x01"
        kinds = {struct.unpack_from("<I", table, place * size)[0] for place in range(count)}
    except (OSError, struct.error):
        is_elf, kinds = False, set()
    if is_elf and kinds and _INTERPRETER not in kinds:
        return
    raise DecisionError(
        "docker.program",
        "this OPA is no statically linked program, so it can't run in an image that holds nothing else",
        file=str(program),
        fix="set TIPSTAFF_OPA to a static one: CGO_ENABLED=0 go install "
        f"github.com/open-policy-agent/opa@v{VERSION}",
    )
