"""Whole documents and refused ones, from the examples, to be corrupted."""

from __future__ import annotations

import json
from typing import Any

from support.documents import changed
from tipstaff import declared

EXAMPLES = {
    file.name.removesuffix(".input.json"): json.loads(file.read_text())
    for file in sorted((declared.folder("contracts") / "examples").glob("*.input.json"))
}
CHANGE = EXAMPLES["change-allow"]
FILE = CHANGE["resource"]["files"][0]
SHA256 = "e7" * 32
APPROVAL = {
    "key": "a1" * 32,
    "digest": CHANGE["context"]["judged_sha256"],
    "status": "approved",
    "requested_by": {"id": "alice@laptop", "type": "human"},
    "decided_by": {"id": "bob@desk", "type": "human"},
    "decided_at": "2026-07-01T11:00:00Z",
    "expires_at": "2026-07-01T13:00:00Z",
    "confirmations": 1,
}
# Refused documents that differ from the allowed one in one fact, and the path of that fact.
REFUSED: dict[str, tuple[dict[str, Any], tuple[str | int, ...]]] = {
    "forbidden capability": (
        {"action__found_capabilities": ["raw_shell_execution"]},
        ("action", "found_capabilities"),
    ),
    "capability asked for": (
        {"action__requested_capabilities": ["raw_shell_execution"]},
        ("action", "requested_capabilities"),
    ),
    "capability of caution": (
        {"action__found_capabilities": ["dynamic_code"]},
        ("action", "found_capabilities"),
    ),
    "unknown class": ({"action__class": "heal_foo"}, ("action", "class")),
    "reading class": ({"action__class": "audit"}, ("action", "class")),
    "control plane": (
        {"resource__files": [{**FILE, "path": "skills/tipstaff.yaml"}]},
        ("resource", "files"),
    ),
    "read-only path": (
        {"resource__files": [{**FILE, "path": "skills/vendor/x.md"}]},
        ("resource", "files"),
    ),
    "moved policy": (
        {"resource__files": [{**FILE, "status": "renamed", "old_path": "policy/x"}]},
        ("resource", "files"),
    ),
    "removed file": ({"resource__files": [{**FILE, "status": "deleted"}]}, ("resource", "files")),
    "mode": ({"resource__files": [{**FILE, "mode_changed": True}]}, ("resource", "files")),
    "definition": (
        {"resource__files": [{**FILE, "touches_existing_definition": True}]},
        ("resource", "files"),
    ),
    "failed test": ({"evidence__tests__failed": 1}, ("evidence", "tests")),
    "no test": ({"evidence__tests__passed": 0}, ("evidence", "tests")),
    "stale tests": ({"evidence__tests__diff_sha256": SHA256}, ("evidence", "tests")),
    "no isolation": ({"evidence__sandbox__isolated": False}, ("evidence", "sandbox")),
    "unknown backend": ({"evidence__sandbox__backend": "none"}, ("evidence", "sandbox")),
    "nothing held": ({"evidence__sandbox__held": ["network"]}, ("evidence", "sandbox")),
    "global pause": ({"context__pause__global": True}, ("context", "pause")),
    "pause of the user": ({"context__pause__user": True}, ("context", "pause")),
    "switch": (
        {"context__pause__switches": {"TIPSTAFF_AUTO_EXECUTE_DISABLED": "1"}},
        ("context", "pause"),
    ),
    "other revision": ({"context__bundles__tipstaff": "other"}, ("context", "bundles")),
    "absent overlay": ({"context__bundles__org": "r1"}, ("context", "bundles")),
    "invalid tier": (
        {"context__config__team__autonomy": {"heal_additive": "propse"}},
        ("context", "config", "team", "autonomy"),
    ),
    "local tier": (
        {
            "context__config__local": {"schema_version": 1, "autonomy": {"heal_additive": "off"}},
            "context__config__local_sha256": SHA256,
        },
        ("context", "config", "local"),
    ),
    "stale approval": (
        {"context__approval": {**APPROVAL, "digest": SHA256}},
        ("context", "approval"),
    ),
    "expired approval": (
        {"context__approval": {**APPROVAL, "expires_at": "2026-07-01T12:00:00Z"}},
        ("context", "approval"),
    ),
    "agent's approval": (
        {"context__approval": {**APPROVAL, "decided_by": {"id": "bot@desk", "type": "agent"}}},
        ("context", "approval"),
    ),
}

# An allowed document in which every optional part is there.
WHOLE = changed(
    CHANGE,
    action__requested_capabilities=["file_read"],
    context__approval=APPROVAL,
    context__pause__switches={"TIPSTAFF_AUTO_EXECUTE_DISABLED": "off"},
    context__config__team__policy={"overlay": "policy", "public_key": None},
    context__config__local={
        "schema_version": 1,
        "autonomy": {"heal_additive": "auto"},
        "paths": {"allowed": ["**"], "read_only": ["private/**"]},
        "approvals": {"four_eyes": True},
    },
    context__config__local_sha256=SHA256,
)
