"""One call of a tool: who may make it, what it gives, and the line on the trail that each one leaves."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from tipstaff.documents import strict_json
from tipstaff.documents.base import Json
from tipstaff.documents.redaction import redact
from tipstaff.documents.text import visible
from tipstaff.errors import ContractError, Error
from tipstaff.ledger.trail import NewRecord, Trail
from tipstaff.pdp.places import witness_folder
from tipstaff.project import Project
from tipstaff.surfaces import governed_harness, propose_action
from tipstaff.surfaces.call import Call, Work, failure
from tipstaff.surfaces.confinement import Confinement
from tipstaff.surfaces.principal import Principal
from tipstaff.surfaces.tools import has

_DOMAIN = "tipstaff.surface.call.v1"
_SHOWN = 64
_DEFECT = "internal"
# Reads and checks all that is asked for; what it returns does it.
_PREPARE: Mapping[str, Callable[[Call], Work]] = {
    "governed_harness": governed_harness.prepare,
    "propose_action": propose_action.prepare,
}


class Forbidden(Exception):
    """The caller has no such tool, whether there is one or not; ``data`` says so as ``Error.diagnostics`` would."""

    def __init__(self, data: Json) -> None:
        super().__init__(data["message"])
        self.data = data


@dataclass(frozen=True)
class Desk:
    """Where calls come in for one project; used by several threads at once."""

    project: Project
    say: Callable[[str], None]

    def call(self, principal: Principal, tool: str, arguments: Any) -> Json:
        """What a call gives: ``ok`` with a result or with the error; raises ``Forbidden`` for no tool of theirs.

        Each call leaves one record of itself, and what it decides its own. A call that can't be recorded does nothing.
        """
        try:
            return self._called(principal, tool, arguments)
        except Error as error:
            return failure(error)
        except Forbidden:
            raise
        except Exception as error:
            # What went wrong is for whoever runs the server to read, and nothing for the caller.
            for line in "".join(traceback.format_exception(error)).splitlines():
                self.say(line)
            return failure(_defect(error))

    def _called(self, principal: Principal, tool: str, arguments: Any) -> Json:
        if not has(principal.scope, tool):
            refusal = ContractError(
                "mcp.forbidden",
                f"{visible(tool, limit=_SHOWN)} is no tool of this caller",
                fix="call one of the tools that are listed",
            )
            self._record(principal, tool, "refused", {"code": refusal.code})
            raise Forbidden(redact(refusal.diagnostics()))
        detail: Json = {"scope": principal.scope}
        try:
            detail["arguments_sha256"] = strict_json.digest(arguments, domain=_DOMAIN)
            call = Call(self.project.current(), principal, arguments, Confinement(), self.say)
            work = _PREPARE[tool](call)
        except Exception as error:
            self._record(principal, tool, "refused", {**detail, **_why(error)})
            raise
        self._record(principal, tool, "called", detail)
        try:
            found: Json = redact({"ok": True, **work()})
        except Exception as error:
            self._record(principal, tool, "failed", {**detail, **_why(error)})
            raise
        return found

    def _record(self, principal: Principal, tool: str, decision: Any, detail: Json) -> None:
        """One record; raises ``EvidenceError`` where it can't be written."""
        record = NewRecord(
            decision=decision,
            target=f"mcp:{visible(tool, limit=_SHOWN)}",
            detail=detail,
            actor=principal.actor,
            codes=(detail["code"],) if "code" in detail else (),
        )
        with Trail(self.project.state, witness=witness_folder()) as trail:
            trail.append(record)


def _why(error: Exception) -> Json:
    """What the trail keeps of an error; its field may be the caller's own word."""
    if not isinstance(error, Error):
        return {"code": _DEFECT}
    return {"code": error.code, "field": error.field and visible(error.field, limit=_SHOWN)}


def _defect(error: Exception) -> Error:
    return Error(
        _DEFECT,
        f"a defect in tipstaff: {type(error).__name__}",
        fix="the operator finds the lines that tell of it on the server's standard error",
    )
