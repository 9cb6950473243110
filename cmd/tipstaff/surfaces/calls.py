"""One call of a tool: who may make it, what it gives, and the line on the trail that each one leaves."""

from __future__ import annotations

import os
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tipstaff.documents import strict_json
from tipstaff.documents.audit import Entry
from tipstaff.documents.base import Json
from tipstaff.documents.redaction import redact
from tipstaff.documents.text import visible
from tipstaff.engine import Engine
from tipstaff.errors import ContractError, Error
from tipstaff.ledger.trail import NewRecord
from tipstaff.project import Project
from tipstaff.surfaces import access, governed_harness, propose_action
from tipstaff.surfaces.call import Call, Work, failure
from tipstaff.surfaces.confinement import Confinement
from tipstaff.surfaces.principal import Principal
from tipstaff.surfaces.tools import Tool, listed

_DOMAIN = "tipstaff.surface.call.v1"
_SHOWN = 64
_DEFECT = "internal"
# How a refusal that concerns an argument is told; any other is of the tool.
_FIELDS = {
    "access.plan_only": ("mcp.forbidden", "dry_run"),
    "access.place": ("surface.write", "out"),
}
# Reads and checks all that is asked for; what it returns does it.
_PREPARE: Mapping[str, Callable[[Call], Work]] = {
    "governed_harness": governed_harness.prepare,
    "propose_action": propose_action.prepare,
}


class Forbidden(ContractError):
    """The caller has no such tool, whether there is one or not (``mcp.forbidden``)."""


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
        except Forbidden:
            raise
        except Error as error:
            return failure(error)
        except Exception as error:
            # What went wrong is for whoever runs the server to read, and nothing for the caller.
            for line in "".join(traceback.format_exception(error)).splitlines():
                self.say(line)
            return failure(_defect(error))

    def tools(self, principal: Principal) -> tuple[Tool, ...]:
        """The tools that this caller has. Raises ``DecisionError`` where policy gives no answer."""
        with self._engine(principal) as engine:
            return listed(access.tools(engine, principal.scope))

    def _engine(self, principal: Principal) -> Engine:
        return Engine(self.project.current(), say=self.say, actor=principal.actor)

    def _called(self, principal: Principal, tool: str, arguments: Any) -> Json:
        detail: Json = {"scope": principal.scope}
        with self._engine(principal) as engine:
            try:
                _demand_use(engine, principal, tool, arguments)
                detail["arguments_sha256"] = strict_json.digest(arguments, domain=_DOMAIN)
                work = _PREPARE[tool](Call(engine, principal, arguments, Confinement(), self.say))
            except Exception as error:
                self._record(engine, tool, "refused", {**detail, **_why(error)})
                raise
            self._record(engine, tool, "called", detail)
            try:
                found: Json = redact({"ok": True, **work()})
            except Exception as error:
                self._record(engine, tool, "failed", {**detail, **_why(error)})
                raise
        return found

    @staticmethod
    def _record(engine: Engine, tool: str, decision: Entry, detail: Json) -> None:
        """One record; raises ``EvidenceError`` where it can't be written."""
        record = NewRecord(
            decision=decision,
            target=f"mcp:{visible(tool, limit=_SHOWN)}",
            detail=detail,
            actor=engine.actor,
            codes=(detail["code"],) if "code" in detail else (),
        )
        engine.trail.append(record)


def _demand_use(engine: Engine, principal: Principal, tool: str, arguments: Any) -> None:
    """Have policy say whether the caller may use the tool so; raises ``Forbidden``, or as the tool would."""
    given = arguments if isinstance(arguments, dict) else {}
    verdict = access.use(
        engine,
        principal.scope,
        visible(tool, limit=_SHOWN),
        dry_run=given.get("dry_run") is True,
        out=_within(engine.project, given.get("out")),
    )
    if verdict.is_allowed:
        return
    reason = verdict.reasons[0]
    if reason.code not in _FIELDS:
        raise Forbidden("mcp.forbidden", reason.message, fix=reason.solution)
    code, field = _FIELDS[reason.code]
    raise ContractError(code, reason.message, field=field, fix=reason.solution)


def _within(project: Project, out: Any) -> str | None:
    """Where a file truly lies, from the project's root; None where it is none of the project's."""
    if not isinstance(out, str) or "\0" in out:
        return None
    root, place = project.root.resolve(), Path(os.path.realpath(project.root / out))
    if place.is_relative_to(root):
        return str(place.relative_to(root))
    state = project.state.resolve()
    return f".tipstaff/{place.relative_to(state)}" if place.is_relative_to(state) else None


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
