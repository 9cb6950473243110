"""What is known of a specification, an approval of it, and what policy says to both."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

from support.harness_scene import Scene
from support.harness_scene import changed as specified
from tipstaff.documents.context import Actor
from tipstaff.documents.modification import StoredApproval
from tipstaff.documents.verdict import Verdict
from tipstaff.evidence import static_gate
from tipstaff.harness.facts import Known, document
from tipstaff.harness.specification import from_object
from tipstaff.project import timestamp, utc_now

ALICE, BOB, CAROL = (f"{name}@desk" for name in ("alice", "bob", "carol"))


def changed(**changes: Any) -> dict[str, Any]:
    """The specification with a store, and these changes."""
    return specified(**{"approval_store": "approvals.jsonl", **changes})


def known(scene: Scene, spec: Any, subject: str = ALICE) -> Known:
    """What is known of a specification before anything is asked."""
    given = from_object(spec, scene.root)
    modification = given.spec.modification
    static = static_gate.examine(modification.source, modification.target)
    return Known(given, subject, "cli", "run", static)


def approved(of: str, **facts: Any) -> StoredApproval:
    """An approval of this content by another person, in time."""
    now = utc_now()
    whole: dict[str, Any] = {
        "key": of,
        "status": "approved",
        "digest": of,
        "requested_by": Actor(id=ALICE, type="agent"),
        "decided_by": Actor(id=BOB, type="human"),
        "decided_at": timestamp(now - timedelta(seconds=1)),
        "expires_at": timestamp(now + timedelta(minutes=5)),
        "confirmations": 1,
    }
    return StoredApproval(**{**whole, **facts})


def content(scene: Scene, of: Known) -> str:
    """The digest that an approval binds to."""
    return str(document(of, scene.engine).resource.content_sha256)


def judged(scene: Scene, of: Known, **facts: Any) -> Verdict:
    """The verdict on it with an approval of its own content, apart from these facts."""
    return scene.engine.evaluate(
        [document(replace(of, approval=approved(content(scene, of), **facts)), scene.engine)]
    )[0]
