"""A request that is not let through: how it is answered, and the record that it leaves."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from threading import Lock

from tipstaff.documents.base import Json
from tipstaff.documents.text import visible
from tipstaff.errors import EvidenceError
from tipstaff.ledger.trail import NewRecord, Trail
from tipstaff.pdp.places import witness_folder
from tipstaff.project import Project
from tipstaff.surfaces.principal import agent

# So many records at once, and then one in so many seconds: nine megabytes a day, whatever is sent.
BURST = 20
SECONDS_FOR_ONE = 10.0
_INVALID_REQUEST = -32600
NOBODY = "unauthenticated"


class Refused(Exception):
    """Not let through. ``answer`` is an error of JSON-RPC; ``who`` came in, where that is known."""

    def __init__(
        self,
        status: int,
        code: str,
        message: str,
        *,
        headers: Mapping[str, str] | None = None,
        answer: Json | None = None,
        who: str = NOBODY,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.headers = dict(headers or {})
        self.who = who
        self.answer = answer or {
            "jsonrpc": "2.0",
            "id": None,
            "error": {"code": _INVALID_REQUEST, "message": message, "data": {"code": code}},
        }

    @property
    def body(self) -> bytes:
        """The answer's bytes."""
        return json.dumps(self.answer).encode()


class Refusals:
    """Puts refusals on the trail, and no more of them than fit; used by several threads at once.

    What is left out is counted, and the next record, or the last one at the end, says how many it stands for.
    """

    def __init__(
        self,
        project: Project,
        say: Callable[[str], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._project = project
        self._say = say
        self._clock = clock
        self._lock = Lock()
        self._left = float(BURST)
        self._seen = clock()
        self._omitted = 0

    def keep(self, refused: Refused, method: str) -> None:
        """Record a refusal, or count it. A trail that can't be written is told: what is refused stays refused."""
        with self._lock:
            now = self._clock()
            self._left = min(BURST, self._left + (now - self._seen) / SECONDS_FOR_ONE)
            self._seen = now
            if self._left < 1:
                self._omitted += 1
                return
            self._left -= 1
            omitted, self._omitted = self._omitted, 0
        detail = {"status": refused.status, "method": visible(method, limit=16)}
        self._write(refused.who, refused.code, detail, omitted)
        self._say(f"refused {refused.who}: {refused} [{refused.code}]")

    def close(self) -> None:
        """Say on the trail how many were left out since the last record."""
        with self._lock:
            omitted, self._omitted = self._omitted, 0
        if omitted:
            self._write(NOBODY, "mcp.omitted", {}, omitted)

    def _write(self, who: str, code: str, detail: Json, omitted: int) -> None:
        record = NewRecord(
            decision="refused",
            target="mcp:http",
            detail={**detail, "code": code, "omitted_before": omitted},
            actor=agent(who),
            codes=(code,),
        )
        try:
            with Trail(self._project.state, witness=witness_folder()) as trail:
                trail.append(record)
        except EvidenceError as error:
            self._say(f"error: a refusal is not on record: {error} [{error.code}]")
