"""Input documents as a caller writes them, and as the engine completes them."""

from __future__ import annotations

import copy
from typing import Any

from tipstaff.documents.approval import ApprovalRequest
from tipstaff.documents.input import Actor, ApprovalFacts
from tipstaff.project import timestamp

DIFF = "3f" * 32
BASE = "c0" * 20
DECISION = "0196f3a2-7c1e-7b41-9f00-0123456789ab"
SANDBOX = {
    "backend": "bubblewrap",
    "profile": "strict",
    "isolated": True,
    "held": ["network", "write"],
}


def a_file(path: str = "skills/word-count/SKILL.md", **more: Any) -> dict[str, Any]:
    """A file to which lines are added."""
    return {
        "path": path,
        "status": "modified",
        "old_path": None,
        "mode_changed": False,
        "binary": False,
        "language": "markdown",
        "added": 2,
        "removed": 0,
        "additions_only": True,
        "touches_existing_definition": False,
        **more,
    }


def counts(passed: int = 12, failed: int = 0, diff: str = DIFF) -> dict[str, Any]:
    """Counts of golden tests."""
    return {
        "passed": passed,
        "failed": failed,
        "skipped": 0,
        "diff_sha256": diff,
        "command": None,
    }


def a_change(action_class: str | None = "heal_additive", **changes: Any) -> dict[str, Any]:
    """A change that the tier alone decides about: additive, tested in isolation, of no capability.

    A change of it is a path of keys joined by ``__``: ``evidence__tests=None``.
    """
    document = {
        "schema_version": 1,
        "kind": "change",
        "subject": {"id": "alice"},
        "action": {
            "class": action_class,
            "requested_capabilities": [],
            "found_capabilities": [],
        },
        "resource": {"base": BASE, "diff_sha256": DIFF, "files": [a_file()]},
        "evidence": {"tests": counts(), "sandbox": copy.deepcopy(SANDBOX), "drift": None},
    }
    return changed(document, **changes)


def an_act(act: str | None = "approve", resource: str = "approval:" + "a7" * 32) -> dict[str, Any]:
    """An act of somebody upon the engine."""
    return {
        "schema_version": 1,
        "kind": "control",
        "subject": {"id": "alice"},
        "action": {"type": act},
        "resource": {"id": resource},
    }


def an_approval(request: ApprovalRequest, by: Actor, **changes: Any) -> ApprovalFacts:
    """The facts of a person's approval, given now, of a request."""
    facts = ApprovalFacts(
        key=request.key,
        digest=request.digest,
        status="approved",
        requested_by=request.requested_by,
        decided_by=by,
        decided_at=timestamp(),
        expires_at=request.expires_at,
        confirmations=request.confirmations,
    )
    return facts.model_copy(update=changes)


def complete(document: dict[str, Any], bundles: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """The document with a context of its own, as a replay brings one; changes are paths below ``context``."""
    context = {
        "decision_id": DECISION,
        "now": "2026-03-01T12:00:00Z",
        "actor": {"id": "alice@desk", "type": "human"},
        "pause": {"global": False, "user": False, "hard": False, "switches": {}},
        "config": {
            "team": None,
            "team_sha256": None,
            "local": None,
            "local_sha256": None,
            "local_tracked": False,
        },
        "bundles": bundles,
        "has_overlay": bool(bundles.get("org")),
        "judged_sha256": "5d" * 32,
        "approval": None,
    }
    return {**copy.deepcopy(document), "context": changed(context, **changes)}


def changed(document: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """A copy with the values at some paths replaced."""
    new = copy.deepcopy(document)
    for path, value in changes.items():
        *folders, name = path.split("__")
        place = new
        for folder in folders:
            place = place[folder]
        place[name] = value
    return new


def without(document: dict[str, Any], *path: str) -> dict[str, Any]:
    """A copy that lacks the key at a path."""
    new = copy.deepcopy(document)
    place = new
    for folder in path[:-1]:
        place = place[folder]
    place.pop(path[-1], None)
    return new
