"""The sessions of a server: whose each one is, and which ids of requests were used in it."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field

from tipstaff.surfaces.web.refused import Refused

MAX_SESSIONS = 256
# One bearer can't take the others' room.
MAX_OF_ONE = 32
# A session ends after so many requests, so that what is remembered of it is bounded.
MAX_IDS = 10_000


@dataclass
class _Session:
    owner: str
    ids: set[str] = field(default_factory=set)


class Sessions:
    """Sessions by id, the one that was used longest ago first; used from one thread."""

    def __init__(self) -> None:
        self._sessions: OrderedDict[str, _Session] = OrderedDict()

    def demand(self, session: str, who: str) -> None:
        """Raise ``Refused`` for a session that is not there, or is another's."""
        found = self._sessions.get(session)
        if found is None:
            raise Refused(404, "mcp.session", "there is no such session; begin a new one", who=who)
        if found.owner != who:
            raise Refused(403, "mcp.session", "the session belongs to another token", who=who)
        self._sessions.move_to_end(session)

    def claim(self, session: str, name: str | int, who: str) -> None:
        """Take an id of a request for this session. Raises ``Refused`` for one that was used, or one too many."""
        self.demand(session, who)  # it may have ended while the body arrived
        ids = self._sessions[session].ids
        key = str(name)  # the SDK keeps one answer for 1 and "1"
        if key in ids:
            raise Refused(400, "mcp.id_reused", "the id was used before in this session", who=who)
        if len(ids) >= MAX_IDS:
            raise Refused(404, "mcp.session", "the session is used up; begin a new one", who=who)
        ids.add(key)

    def opened(self, session: str, who: str, first: str | int) -> list[tuple[str, str]]:
        """Remember a new session and the id that opened it; sessions that have to end for it, with their owners."""
        self._sessions[session] = _Session(who, {str(first)})
        own = [name for name, each in self._sessions.items() if each.owner == who]
        old = own[:-MAX_OF_ONE]
        rest = [name for name in self._sessions if name not in old]
        old += rest[:-MAX_SESSIONS]
        return [(name, self._sessions.pop(name).owner) for name in old]

    def ended(self, session: str) -> None:
        """Forget a session."""
        self._sessions.pop(session, None)
