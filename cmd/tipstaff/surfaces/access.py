"""The MCP surface as policy sees it: tokens that are issued, revoked or presented, and the tools of a scope."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from tipstaff.documents.audit import Entry
from tipstaff.documents.base import Json
from tipstaff.documents.input import ControlInput, control
from tipstaff.documents.verdict import Verdict
from tipstaff.engine import Engine
from tipstaff.errors import EvidenceError
from tipstaff.ledger.database import open_database
from tipstaff.ledger.tokens import Token, Tokens
from tipstaff.ledger.trail import NewRecord
from tipstaff.project import Project, prepare
from tipstaff.surfaces.principal import Scope, agent

_PEOPLE = ("issued_by", "revoked_by")


@dataclass(frozen=True)
class Issued:
    """What policy said; and the token with the text to present, where it was issued."""

    verdict: Verdict
    token: Token | None = None
    text: str | None = None


def tokens_of(project: Project) -> Tokens:
    """The tokens of a project. Raises ``EvidenceError`` (``store.*``)."""
    return Tokens(open_database(prepare(project.state)))


def issue(engine: Engine, name: str, scope: str, lifetime_s: int | None) -> Issued:
    """Issue a token, if policy lets this actor; how long it lives without a wish is for policy to say.

    Raises ``ContractError`` (``token.*``) and ``EvidenceError``.
    """
    tokens = tokens_of(engine.project)
    tokens.demand_new(name)
    asked = {"name": name, "scope": scope, "lifetime_s": lifetime_s}
    verdict = engine.decide(_about("mcp token issue", name, engine.actor.id, asked))
    if not verdict.is_allowed:
        return Issued(verdict)
    engine.redeem(verdict)
    seconds = int(verdict.facts["lifetime_s"])
    token, text = tokens.issue(name, scope, lifetime_s=seconds, by=engine.actor)
    try:
        _record(engine, "issued", verdict, token)
    except EvidenceError:
        tokens.revoke(name, by=engine.actor)
        raise
    return Issued(verdict, token, text)


def revoke(engine: Engine, name: str) -> tuple[Verdict, Token]:
    """Revoke a token, if policy lets this actor. Raises ``ContractError`` and ``EvidenceError``."""
    tokens = tokens_of(engine.project)
    token = tokens.named(name)
    verdict = engine.decide(_about("mcp token revoke", name, engine.actor.id, {"name": name}))
    if verdict.is_allowed:
        engine.redeem(verdict)
        token = tokens.revoke(name, by=engine.actor)
        _record(engine, "revoked", verdict, token)
    return verdict, token


def presented(token: Token | None, served: str) -> ControlInput:
    """The document that asks whether a token still counts, on a server that serves up to this scope.

    None stands for a text that is no token's.
    """
    if token is None:
        return control("mcp call", "mcp:unknown", subject="unknown", evidence={"access": None})
    facts = {name: value for name, value in asdict(token).items() if name not in _PEOPLE}
    return _about("mcp call", token.name, token.name, {**facts, "served": served})


def standings(project: Project, tokens: list[Token], served: str) -> list[Verdict]:
    """What policy would say of each token now; nothing is recorded. Raises ``DecisionError``."""
    if not tokens:
        return []
    with Engine(project, actor=agent("tokens")) as engine:
        return engine.evaluate([presented(token, served) for token in tokens])


def tools(engine: Engine, scope: Scope) -> Json:
    """The tools that policy gives a scope, by name, each with its terms: ``plans_only``. Raises ``DecisionError``."""
    asked = _about("mcp list", "tools", engine.actor.id, {"scope": scope})
    verdict = engine.evaluate([asked])[0]
    found: Json = verdict.facts.get("tools", {}) if verdict.is_allowed else {}
    return found


def use(engine: Engine, scope: Scope, tool: str, *, dry_run: bool, out: str | None) -> Verdict:
    """Whether a tool may be used so; ``out`` is a file to write, from the project's root. Raises ``DecisionError``."""
    facts = {"scope": scope, "tool": tool, "dry_run": dry_run, "out": out}
    return engine.evaluate([_about("mcp use", "tools", engine.actor.id, facts)])[0]


def _about(act: str, name: str, subject: str, facts: Json) -> ControlInput:
    return control(act, f"mcp:{name}", subject=subject, evidence={"access": facts})


def _record(engine: Engine, entry: Entry, verdict: Verdict, token: Token) -> None:
    detail = {name: getattr(token, name) for name in ("id", "scope", "issued_at", "expires_at")}
    engine.trail.append(
        NewRecord(
            decision=entry,
            target=f"mcp:{token.name}",
            detail=detail,
            actor=engine.actor,
            decision_id=verdict.decision_id,
        )
    )
