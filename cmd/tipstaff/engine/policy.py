"""Which policy must answer, and the connection to the sidecar that runs it."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

from tipstaff.errors import DecisionError
from tipstaff.pdp.address import Remote
from tipstaff.pdp.bundle import OVERLAY, Bundle, content, overlay, overlay_file
from tipstaff.pdp.client import Client
from tipstaff.pdp.kept import keep
from tipstaff.pdp.marks import Marks
from tipstaff.pdp.mode import Mode, in_use
from tipstaff.pdp.opa import ensure
from tipstaff.pdp.shipped import shipped
from tipstaff.pdp.threshold import Signers, signatures_file
from tipstaff.project import Project, prepare

if TYPE_CHECKING:
    from tipstaff.pdp.docker_sidecar import DockerSidecar
    from tipstaff.pdp.sidecar import Sidecar

DEADLINE_S = 5.0
OVERLAY_FOLDER = "policy"
_RECENT = 4
_Seen = tuple[object, ...]


class Policy:
    """The shipped bundle and the team's overlay, and a client to the sidecar that serves exactly those.

    ``holds_marks`` is False only where a person is about to say which bundles to begin from.
    """

    def __init__(
        self, project: Project, say: Callable[[str], None], deadline_s: float = DEADLINE_S
    ) -> None:
        self.project = project
        self._say = say
        self._deadline_s = deadline_s
        self._bundles: tuple[Bundle, ...] = ()
        self._seen: _Seen | None = None
        self._recent: deque[tuple[Bundle, ...]] = deque(maxlen=_RECENT)
        self._client: Client | None = None
        self._lock = Lock()
        self.holds_marks = True

    def revisions(self) -> dict[str, str | None]:
        """The revision that each bundle must answer in; ``org`` is None without an overlay."""
        return _revisions(self.bundles())

    def bundles(self) -> tuple[Bundle, ...]:
        """Both bundles, verified and held against their marks; read again when the overlay's file has changed."""
        with self._lock:
            seen = self._look()
            if not self._bundles or seen != self._seen:
                self.disconnect()
                self._bundles = ()
                opa = ensure(self._say)
                key = self.public_key()
                team = overlay(self.overlay_folder(), key, self.signers()) if key else None
                found = (shipped(opa, self._say), *((team,) if team else ()))
                if self.holds_marks:
                    self._accept(found)
                self._bundles, self._seen = found, seen
                self._recent.append(found)
            return self._bundles

    def bundles_of(self, revisions: dict[str, str | None]) -> tuple[Bundle, ...]:
        """The bundles of these revisions, as ``revisions`` gave them a moment ago; else those that hold now.

        What was asked under one policy is answered by it, whole, also where another one has come meanwhile.
        """
        for bundles in list(self._recent):
            if _revisions(bundles) == revisions:
                return bundles
        return self.bundles()

    def adopt(self, other: Policy) -> None:
        """Hold the bundles that another one has read and verified, until the overlay's file changes."""
        self._bundles, self._seen = other.bundles(), other._seen

    def client(self) -> Client:
        """The client of the bundles that were read last, connected to the engine of the mode in use.

        They are not read again here: what is asked names their revisions, and must be answered by them.
        """
        bundles = self._bundles or self.bundles()
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
        return self._joined(self._bundles or self.bundles())

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
        return self.project.root / self._overlay_name()

    def _overlay_name(self) -> str:
        return self.project.team_setting("policy", "overlay") or OVERLAY_FOLDER

    def has_overlay(self) -> bool:
        """Whether a signed bundle lies where the team's belongs, be it trusted or not."""
        return os.path.lexists(overlay_file(self.overlay_folder()))

    def signers(self) -> Signers:
        """Who of the team may sign besides, and how many must have signed."""
        keys = self.project.team_setting("policy", "public_keys") or ()
        return Signers(tuple(keys), self.project.team_setting("policy", "threshold") or 1)

    def public_key(self) -> str | None:
        """The key (PEM) that must have signed the team's bundle; None where no key is configured."""
        return self.project.team_setting("policy", "public_key") or None

    def _accept(self, bundles: tuple[Bundle, ...]) -> None:
        """Refuse what is older than the marks say, and keep what is new."""
        marks = Marks(prepare(self.project.state))
        for bundle in bundles:
            data = content(bundle)
            if marks.accept(bundle) and bundle.name == OVERLAY:
                try:
                    keep(self.project.state, bundle, data)
                except OSError as error:
                    raise DecisionError(
                        "bundle.mark_unwritable",
                        f"an accepted bundle can't be kept: {error.strerror or error}",
                        file=str(self.project.state),
                        fix="make the state folder writable",
                    ) from error

    def _look(self) -> _Seen:
        """What shows that the overlay is another one than before: its files, and who may sign."""
        file, signatures = _files(self.project.root, self._overlay_name())
        return (_state(file), _state(signatures), self.public_key(), self.signers())


def _revisions(bundles: tuple[Bundle, ...]) -> dict[str, str | None]:
    found: dict[str, str | None] = {"tipstaff": "", "org": None}
    return {**found, **{bundle.name: bundle.revision for bundle in bundles}}


@lru_cache(maxsize=16)
def _files(root: Path, overlay_folder: str) -> tuple[str, str]:
    """The overlay's bundle and its further signatures; asked for before each decision."""
    file = overlay_file(root / overlay_folder)
    return str(file), str(signatures_file(file))


def _state(file: str) -> tuple[int, int] | None:
    try:
        state = os.stat(file)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise DecisionError(
            "bundle.unreadable", str(error), fix="make the overlay's bundle readable"
        ) from error
    return state.st_mtime_ns, state.st_ino
