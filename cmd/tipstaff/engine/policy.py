"""Which policy must answer, and the connection to the sidecar that runs it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

from tipstaff.errors import DecisionError
from tipstaff.pdp.address import Remote
from tipstaff.pdp.bundle import Bundle, overlay, overlay_file, shipped
from tipstaff.pdp.client import Client
from tipstaff.pdp.mode import Mode, in_use
from tipstaff.pdp.opa import ensure
from tipstaff.project import Project, prepare

if TYPE_CHECKING:
    from tipstaff.pdp.docker_sidecar import DockerSidecar
    from tipstaff.pdp.sidecar import Sidecar

DEADLINE_S = 5.0
OVERLAY_FOLDER = "policy"


class Policy:
    """The shipped bundle and the team's overlay, and a client to the sidecar that serves exactly those."""

    def __init__(
        self, project: Project, say: Callable[[str], None], deadline_s: float = DEADLINE_S
    ) -> None:
        self.project = project
        self._say = say
        self._deadline_s = deadline_s
        self._bundles: tuple[Bundle, ...] = ()
        self._overlay_seen: tuple[int, int] | None = None
        self._client: Client | None = None
        self._lock = Lock()

    def revisions(self) -> dict[str, str | None]:
        """The revision that each bundle must answer in; ``org`` is None without an overlay."""
        found: dict[str, str | None] = {"tipstaff": "", "org": None}
        for bundle in self.bundles():
            found[bundle.name] = bundle.revision
        return found

    def bundles(self) -> tuple[Bundle, ...]:
        """Both bundles, verified; read again when the overlay's file has changed."""
        with self._lock:
            seen = self._overlay_state()
            if not self._bundles or seen != self._overlay_seen:
                self.disconnect()
                opa = ensure(self._say)
                team = self._overlay_bundle()
                self._bundles = (shipped(opa, self._say), *((team,) if team else ()))
                self._overlay_seen = seen
            return self._bundles

    def client(self) -> Client:
        """The client, connected to the engine of the mode in use."""
        bundles = self.bundles()
        if self._client is None:
            self._client = self.connect(bundles)
        return self._client

    def disconnect(self) -> None:
        """Forget the connection; the sidecar itself goes on for others."""
        if self._client is not None:
            self._client.close()
            self._client = None

    def sidecar(self) -> Sidecar:
        """The sidecar that serves these bundles, started or joined."""
        return self._joined(self.bundles())

    def _joined(self, bundles: tuple[Bundle, ...]) -> Sidecar:
        from tipstaff.pdp.sidecar import join

        return join(prepare(self.project.state), ensure(self._say), bundles)

    @property
    def mode(self) -> Mode:
        """Which engine answers now."""
        return in_use(self.project.state)

    def container(self) -> DockerSidecar:
        """The sidecar in Docker that serves these bundles, started or joined; from now on it is what answers."""
        from tipstaff.pdp.docker_sidecar import start

        return start(prepare(self.project.state), ensure(self._say), self.bundles())

    def remote(self) -> Remote | None:
        """Where the engine in use is asked over a port; None for the embedded one."""
        if self.mode != "docker":
            return Remote.from_environment()
        return self._container(self.bundles()).remote()

    def connect(self, bundles: tuple[Bundle, ...]) -> Client:
        """A connection of the caller's own to what serves these bundles."""
        if self.mode == "docker":
            return self._container(bundles).client(deadline_s=self._deadline_s)
        remote = Remote.from_environment()
        if remote is None:
            return self._joined(bundles).client(deadline_s=self._deadline_s)
        from tipstaff.pdp.remote import RemoteTransport

        return Client(
            RemoteTransport(remote),
            revisions={bundle.name: bundle.revision for bundle in bundles},
            deadline_s=self._deadline_s,
        )

    def _container(self, bundles: tuple[Bundle, ...]) -> DockerSidecar:
        from tipstaff.pdp.docker_sidecar import join

        return join(self.project.state, ensure(self._say), bundles)

    def overlay_folder(self) -> Path:
        """Where the team keeps its own Rego."""
        named = self.project.team_setting("policy", "overlay")
        return self.project.root / (named or OVERLAY_FOLDER)

    def _overlay_bundle(self) -> Bundle | None:
        key = self.project.team_setting("policy", "public_key")
        return overlay(self.overlay_folder(), key) if key else None

    def _overlay_state(self) -> tuple[int, int] | None:
        try:
            state = overlay_file(self.overlay_folder()).stat()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise DecisionError(
                "bundle.unreadable", str(error), fix="make the overlay's bundle readable"
            ) from error
        return state.st_mtime_ns, state.st_ino
