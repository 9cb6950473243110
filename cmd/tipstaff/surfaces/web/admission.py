"""Who a bearer is, asked anew at each request, so that a revocation holds from the next one on."""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock
from typing import cast

from tipstaff.engine import Engine
from tipstaff.errors import DecisionError, Error
from tipstaff.project import Project
from tipstaff.surfaces import access
from tipstaff.surfaces.principal import Principal, Scope, agent
from tipstaff.surfaces.web.refused import NOBODY, Refused

CHALLENGE = {"WWW-Authenticate": 'Bearer realm="tipstaff"'}
_REALM = CHALLENGE["WWW-Authenticate"]
# How HTTP says what policy said of a token; all else is a refusal of what it may do.
_UNKNOWN = (401, "invalid_token")
_CHALLENGES = {
    "access.unknown": _UNKNOWN,
    "access.revoked": _UNKNOWN,
    "access.expired": _UNKNOWN,
}
_REFUSED = (403, "insufficient_scope")


class Admission:
    """The tokens of a project, and the policy on them; used by several threads at once."""

    def __init__(self, project: Project, served: Scope, say: Callable[[str], None]) -> None:
        """``served`` is the widest scope that this server serves. Raises ``EvidenceError`` (``store.*``)."""
        self._tokens = access.tokens_of(project)
        self._served = served
        self._lock = Lock()
        self._engine = Engine(project, say=say, actor=agent(NOBODY))

    def admit(self, text: str) -> Principal:
        """The bearer of a token that counts now. Raises ``Refused``, also where nobody can tell."""
        with self._lock:
            try:
                token = self._tokens.presented(text)
                verdict = self._engine.evaluate([access.presented(token, self._served)])[0]
                self._engine.keep_time()
            except Error as error:
                if isinstance(error, DecisionError):
                    self._engine.policy.disconnect()
                raise Refused(
                    503, error.code, "nobody can tell whether the token counts"
                ) from error
        who = token.name if token else NOBODY
        if token is None or not verdict.is_allowed:
            status, problem = _CHALLENGES.get(verdict.codes[0], _REFUSED)
            headers = {"WWW-Authenticate": f'{_REALM}, error="{problem}"'}
            reason = verdict.reasons[0].message
            raise Refused(status, verdict.codes[0], reason, headers=headers, who=who)
        return Principal(token.name, cast(Scope, token.scope))

    def close(self) -> None:
        """Drop the connection to the sidecar."""
        self._engine.close()
