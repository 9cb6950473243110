"""Verdicts and judged changes made by hand, where the engine is not what a test is about."""

from __future__ import annotations

from typing import Any

from tipstaff.documents.input import ChangedFile, ChangeInput
from tipstaff.documents.verdict import Verdict

DECISION = "0196f3a2-7c1e-7b41-9f00-0123456789ab"
DIGEST = "3f" * 32
KEY = "a7" * 32
BASE = "c0" * 20


def a_file(path: str = "skills/w/SKILL.md", **more: Any) -> ChangedFile:
    """One changed file."""
    facts = {
        "status": "modified",
        "added": 3,
        "removed": 0,
        "additions_only": True,
        "touches_existing_definition": False,
    }
    return ChangedFile.model_validate({"path": path, **facts, **more})


def a_change(*files: ChangedFile, subject: str = "alice", **evidence: Any) -> ChangeInput:
    """A change of class heal_additive with its evidence."""
    measured = {
        "tests": {"passed": 12, "failed": 0, "skipped": 1, "diff_sha256": DIGEST},
        "sandbox": {
            "backend": "bubblewrap",
            "profile": "strict",
            "isolated": True,
            "held": ["network", "write"],
        },
    }
    return ChangeInput.model_validate(
        {
            "schema_version": 1,
            "kind": "change",
            "subject": {"id": subject},
            "action": {"class": "heal_additive"},
            "resource": {
                "base": BASE,
                "diff_sha256": DIGEST,
                "files": list(files) or [a_file()],
            },
            "evidence": {**measured, **evidence},
        }
    )


def a_verdict(effect: str = "require_approval", **more: Any) -> Verdict:
    """A verdict with that effect and the obligations that belong to it."""
    asked = effect == "require_approval"
    reason = {
        "code": "gate.require_human",
        "message": "this class is pinned to a person",
        "rule": "tipstaff.gates.require_approval",
        "solution": "approve it",
    }
    opens = [{"id": "open_pull_request", "draft": asked}]
    facts = {
        "schema_version": 1,
        "kind": "change",
        "effect": effect,
        "confirmations": 1 if asked else 0,
        "codes": [] if effect == "allow" else ["gate.require_human"],
        "reasons": [] if effect == "allow" else [reason],
        "matched_rules": ["tipstaff.gates.require_approval"],
        "obligations": opens if effect in ("allow", "require_approval") else [],
        "policy": {
            "bundle": "tipstaff",
            "revision": "r1",
            "data_digest": "d1",
            "opa_version": "1.22.3",
        },
        "decision_id": DECISION,
    }
    return Verdict.model_validate({**facts, **more})
