"""Documents made from an example by changing facts: what examples alone would not notice, an edit of a rule shows here.

The same example gives the same documents in the same order; nothing is random, and nothing says what they come to.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from typing import Any, get_args

from tipstaff.documents.base import ActionClass, Json, Tier

_PATHS = (
    "README.md",
    "src/app.py",
    "skills/weather/notes.md",
    "src/vendor/lib.py",
    "policy/org/size/size.rego",
    "tipstaff.yaml",
    ".github/workflows/ci.yml",
    "infra/prod/main.tf",
)
_CAPABILITIES = (
    "raw_shell_execution",
    "network_egress_from_sandbox",
    "process_execution",
    "file_deletion",
)
_TIMES = (
    "2026-07-03T21:00:00.000000Z",
    "2026-07-04T12:00:00.000000Z",
    "2026-12-24T03:00:00.000000Z",
)
_NOBODY = {"global": False, "user": False, "hard": False, "switches": {}}
_Facts = Mapping[str, Any]


def variations(document: Json, *, crossed: bool) -> Iterator[tuple[str, Json]]:
    """Named variations of one complete document; one that is no change varies only by who acts, and when.

    Every class meets every tier; ``crossed`` says whether each of these then meets every other variation, too.
    """
    is_change = document.get("kind") == "change"
    others = [*_of_context(), *(_of_change(document) if is_change else ())]
    for name, facts in others:
        yield name, _with(document, facts)
    for action_class in get_args(ActionClass) if is_change else ():
        for tier in get_args(Tier):
            named = f"{action_class} {tier}"
            chosen = {
                "action.class": action_class,
                f"context.config.team.autonomy.{action_class}": tier,
            }
            unpinned = {**chosen, "context.config.team.approval_gates.require_human": []}
            yield named, _with(document, chosen)
            yield f"{named} unpinned", _with(document, unpinned)
            for name, facts in others if crossed else ():
                yield f"{named} unpinned {name}", _with(document, {**unpinned, **facts})


def _of_context() -> Iterator[tuple[str, _Facts]]:
    for actor in ("agent", "ci", None):
        yield f"actor={actor}", {"context.actor.type": actor}
    for now in _TIMES:
        yield f"now={now[:16]}", {"context.now": now}
    yield "paused", {"context.pause": {**_NOBODY, "global": True}}
    yield "user paused", {"context.pause": {**_NOBODY, "user": True}}


def _of_change(document: Json) -> Iterator[tuple[str, _Facts]]:
    first = document["resource"]["files"][0]
    everywhere = {"context.config.team.paths.allowed": ["**"]}
    for path in _PATHS:
        files = {"resource.files": [{**first, "path": path}]}
        yield f"path={path}", {**files, **everywhere}
    for count in (6, 60):
        many = [{**first, "path": f"skills/many/{number}.md"} for number in range(count)]
        yield f"{count} files", {"resource.files": many}
    for status in ("added", "deleted", "renamed"):
        yield f"status={status}", {"resource.files": [{**first, "status": status}]}
    yield "breaking", {"resource.files": [{**first, "additions_only": False, "removed": 4}]}
    for capability in _CAPABILITIES:
        yield f"found={capability}", {"action.found_capabilities": [capability]}
    yield "asks for a shell", {"action.requested_capabilities": ["raw_shell_execution"]}
    yield "nobody looked", {"action.found_capabilities": None}
    yield from _of_evidence(document)


def _of_evidence(document: Json) -> Iterator[tuple[str, _Facts]]:
    counts = document["evidence"].get("tests") or {}
    yield "no tests", {"evidence.tests": None, "evidence.sandbox": None}
    if counts:
        yield "failed tests", {"evidence.tests": {**counts, "failed": 1}}
        yield "stale tests", {"evidence.tests": {**counts, "diff_sha256": "0" * 64}}
        yield "empty tests", {"evidence.tests": {**counts, "passed": 0}}
    sandbox = document["evidence"].get("sandbox") or {}
    if sandbox:
        yield "unisolated", {"evidence.sandbox": {**sandbox, "isolated": False}}
        yield "leaky", {"evidence.sandbox": {**sandbox, "held": ["network"]}}
        yield "nsjail", {"evidence.sandbox": {**sandbox, "backend": "nsjail"}}


def _with(document: Json, facts: _Facts) -> Json:
    new = copy.deepcopy(document)
    for path, value in facts.items():
        *folders, name = path.split(".")
        place = new
        for folder in folders:
            if not isinstance(place.get(folder), dict):
                place[folder] = {"schema_version": 1} if folder == "team" else {}
            place = place[folder]
        place[name] = value
    return new
