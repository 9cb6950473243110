"""What must come of each combination of stages, by a table and not by rules.

Each word names one state of a stage: the facts that put it there, the status that the receipt must say, and what it
does to the whole where no earlier stage has stopped it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any

STAGES = ("gate", "proof", "approval", "evidence", "promotion", "rollback")
_KEY = "6" * 64
_PROVER = {"/evidence/supplied/prover": True}
_STORE = {"/evidence/supplied/approval_store": True}
_SIDES = {"/evidence/supplied/rollback": True}
_APPROVED = {
    "key": _KEY,
    "status": "approved",
    "digest": _KEY,
    "requested_by": {"id": "alice@laptop", "type": "human"},
    "decided_by": {"id": "bob@desk", "type": "human"},
    "decided_at": "2026-07-01T11:00:00Z",
    "expires_at": "2026-07-01T13:00:00Z",
    "confirmations": 1,
    "note": None,
}


@dataclass(frozen=True)
class State:
    """One state of a stage; ``does`` is ``None`` where the next stage has its turn."""

    facts: Mapping[str, Any]
    status: str
    does: str | None = None


def _proof(status: str | None) -> dict[str, Any]:
    answer = None if status is None else {"status": status, "detail": ""}
    return {**_PROVER, "/evidence/proof": answer}


def _stored(status: str) -> dict[str, Any]:
    return {**_STORE, "/evidence/approval": {**_APPROVED, "status": status}}


def _rule(name: str) -> dict[str, Any]:
    return {f"/evidence/asked/rules/{name}": True}


TABLE: Mapping[str, Mapping[str, State]] = {
    "gate": {
        "passes": State({}, "passed"),
        "syntax": State({"/evidence/static/syntax": "error"}, "failed", "reject"),
        "unread": State({"/evidence/static/syntax": "unread"}, "failed", "reject"),
        "unresolved": State({"/evidence/static/unresolved": ["line 1: eval"]}, "failed", "reject"),
    },
    "proof": {
        "not asked for": State({}, "not_required"),
        "proved": State(_proof("proved"), "passed"),
        "failed": State(_proof("failed"), "failed", "reject"),
        "error": State(_proof("error"), "error", "reject"),
        "timeout": State(_proof("timeout"), "timeout", "reject"),
        "unknown": State(_proof("unknown"), "failed", "reject"),
        "pending": State(_proof(None), "pending", "defer"),
        "no prover": State(_rule("require_proof"), "failed", "reject"),
    },
    "approval": {
        "not asked for": State({}, "not_required"),
        "approved": State(_stored("approved"), "passed"),
        "rejected": State(_stored("rejected"), "failed", "reject"),
        "pending": State(_stored("pending"), "pending", "defer"),
        "expired": State(_stored("expired"), "pending", "defer"),
        "consumed": State(_stored("consumed"), "pending", "defer"),
        "none": State(_stored("none"), "pending", "defer"),
        "no store": State(_rule("require_approval"), "pending", "defer"),
    },
    "evidence": {
        "better": State({}, "passed"),
        "contaminated": State({"/evidence/contaminated": True}, "failed", "reject"),
        "worse": State({"/evidence/scores/after/plan": 100_000_000}, "failed", "rollback"),
        "no canary": State(_rule("require_canary"), "pending", "defer"),
    },
    "promotion": {
        "enough": State({}, "passed"),
        "too few": State({"/evidence/asked/rules/min_tasks": 9}, "failed", "reject"),
        "rejected": State({"/evidence/conformal": "reject"}, "failed", "reject"),
        "undecided": State(
            {**_rule("require_sequential"), "/evidence/sequential": "undecided"}, "pending", "defer"
        ),
    },
    "rollback": {
        "not asked for": State({}, "not_required"),
        "restored": State(
            {
                **_SIDES,
                **_rule("require_rehearsal"),
                "/evidence/rehearsal": {"restored": True, "detail": ""},
            },
            "passed",
        ),
        "not restored": State(
            {
                **_SIDES,
                **_rule("require_rehearsal"),
                "/evidence/rehearsal": {"restored": False, "detail": ""},
            },
            "failed",
            "reject",
        ),
        "pending": State({**_SIDES, **_rule("require_rehearsal")}, "pending", "defer"),
        "one-sided": State(_rule("require_rehearsal"), "failed", "reject"),
    },
}


def combinations() -> Iterator[tuple[str, ...]]:
    """One word for each stage, in every way."""
    return product(*(TABLE[stage] for stage in STAGES))


def facts(words: tuple[str, ...]) -> dict[str, Any]:
    """The facts of all the words together."""
    together: dict[str, Any] = {}
    for state in states(words):
        together |= state.facts
    return together


def states(words: tuple[str, ...]) -> list[State]:
    """The state that each word names."""
    return [TABLE[stage][word] for stage, word in zip(STAGES, words, strict=True)]


def expected(words: tuple[str, ...]) -> tuple[str, list[str]]:
    """The outcome, and the status of each stage."""
    outcome, statuses = "promote", []
    for state in states(words):
        if outcome != "promote":
            statuses.append("skipped")
            continue
        statuses.append(state.status)
        outcome = state.does or outcome
    return outcome, statuses
