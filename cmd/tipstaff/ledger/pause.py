"""The pause switch: a small file in the state folder, read at every decision.

Whoever can write the state folder can pause and resume. What cannot be read for certain is reported as unknown, and
which words in the environment pause is for policy to say.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

from pydantic import Field

from tipstaff.documents.base import Contract, Identifier, SchemaVersion, Timestamp, parse
from tipstaff.documents.context import Actor, PauseFacts
from tipstaff.documents.strict_json import canonical, loads
from tipstaff.errors import ContractError, EvidenceError
from tipstaff.files import locked, private_folder, read_regular, write_atomically
from tipstaff.project import timestamp, utc_now

SWITCHES = ("TIPSTAFF_AUTO_EXECUTE_DISABLED", "SKYTWIN_AUTO_EXECUTE_DISABLED")


class Pause(Contract):
    """Who paused, when and why. ``hard`` asks for more than a person's approval; policy says what."""

    by: Actor
    at: Timestamp
    reason: str = Field(min_length=1)
    hard: bool = False


class Pauses(Contract):
    """The file: the pause of everything, and those of single users."""

    schema_version: SchemaVersion
    global_: Pause | None = Field(None, alias="global")
    users: dict[Identifier, Pause] = Field(default_factory=dict)


class PauseSwitch:
    """Reads and turns the switches of one state folder."""

    def __init__(self, state: Path, clock: Callable[[], datetime] = utc_now) -> None:
        self.path = state / "pause.json"
        self._clock = clock

    def read(self, user: str) -> PauseFacts:
        """The switches as they stand now. Never raises: what cannot be read is None."""
        switches = {name: _text(os.environ[name]) for name in SWITCHES if name in os.environ}
        try:
            pauses = self._load()
        except (OSError, ContractError):
            return PauseFacts(global_=None, user=None, switches=switches)
        mine = pauses.users.get(user)
        return PauseFacts(
            global_=pauses.global_ is not None,
            user=mine is not None,
            hard=any(pause.hard for pause in (pauses.global_, mine) if pause),
            switches=switches,
        )

    def pauses(self) -> Pauses:
        """All pauses in force; raises ``EvidenceError`` (``pause.unknown``) where that is not certain."""
        with self._known():
            return self._load()

    def pause(
        self, *, by: Actor, reason: str, user: str | None = None, hard: bool = False
    ) -> Pause:
        """Pause everything, or one user; a pause in force is replaced.

        Raises ``EvidenceError``, and ``ContractError`` for an empty reason or an impossible user.
        """
        at = timestamp(self._clock())
        new = {"by": by.model_dump(), "at": at, "reason": reason, "hard": hard}
        place = {"global": new} if user is None else {"users": {user: new}}
        wanted = parse(Pauses, {"schema_version": 1, **place})
        with self._changing() as pauses:
            users = {**pauses.users, **wanted.users}
            both = {"global_": wanted.global_ or pauses.global_, "users": users}
            self._store(pauses.model_copy(update=both))
        return wanted.global_ or wanted.users[str(user)]

    def resume(self, *, user: str | None = None) -> Pause | None:
        """End the pause of everything, or of one user; the pause that ended. Raises ``EvidenceError``."""
        with self._changing() as pauses:
            if user is None:
                ended = pauses.global_
                self._store(pauses.model_copy(update={"global_": None}))
            else:
                left = dict(pauses.users)
                ended = left.pop(user, None)
                self._store(pauses.model_copy(update={"users": left}))
        return ended

    def _load(self) -> Pauses:
        try:
            data = read_regular(self.path, limit=1 << 20, owned=True)
        except FileNotFoundError:
            return Pauses(schema_version=1)
        return parse(Pauses, loads(data, file=str(self.path)), file=str(self.path))

    def _store(self, pauses: Pauses) -> None:
        write_atomically(self.path, canonical(pauses.model_dump(by_alias=True)) + b"\n")

    @contextmanager
    def _changing(self) -> Iterator[Pauses]:
        with self._known():
            private_folder(self.path.parent)
            with locked(self.path.with_name("pause.lock")):
                yield self._load()

    @contextmanager
    def _known(self) -> Iterator[None]:
        try:
            yield
        except (OSError, ContractError) as error:
            what = error.strerror if isinstance(error, OSError) else error.message
            raise EvidenceError(
                "pause.unknown",
                f"the pause state can't be read or written, which counts as paused: {what}",
                file=str(self.path),
                fix="correct or remove the file, then pause or resume again",
            ) from error


def _text(raw: str) -> str:
    """Bytes of the environment that are no UTF-8, made visible."""
    return os.fsencode(raw).decode("utf-8", "backslashreplace")
