"""The specification of a governed modification, as a proposer writes it, and the receipt of what came of it."""

from __future__ import annotations

import re
from pathlib import PurePosixPath
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, StringConstraints, WithJsonSchema
from pydantic_core import PydanticCustomError

from tipstaff.documents.base import (
    CapabilityName,
    Contract,
    Identifier,
    Json,
    SchemaVersion,
    Sha256,
    Timestamp,
)
from tipstaff.documents.harness_settings import MAX_TASKS
from tipstaff.documents.numbers import Score, Share
from tipstaff.documents.text import visible
from tipstaff.documents.verdict import PolicyIdentity

_DOTTED = r"[A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z_][A-Za-z0-9_]*)*"
Reference = Annotated[str, StringConstraints(pattern=rf"^{_DOTTED}:{_DOTTED}$", max_length=300)]
Trial = Literal["accept", "reject", "undecided"]


def _relative(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    path = PurePosixPath(value)
    if not path.parts or path.is_absolute() or ".." in path.parts or str(path) != value:
        raise PydanticCustomError("path", "must be a plain relative path, without ..")
    if visible(value) != value or "\\" in value:
        raise PydanticCustomError(
            "path", "must have only characters that are seen, and no backslash"
        )
    return value


def _without_nul(value: Any) -> Any:
    if isinstance(value, str) and "\0" in value:
        raise PydanticCustomError("path", "must hold no NUL character")
    return value


def _inline(value: Any) -> Any:
    if not isinstance(value, dict | str) or value == "":
        raise PydanticCustomError("inline", "must be an object, or the path of a JSON file")
    return _without_nul(value)


def _referred(value: Any) -> Any:
    if isinstance(value, str) and not re.fullmatch(rf"{_DOTTED}:{_DOTTED}", value):
        raise PydanticCustomError("inline", "must be an object, or module:attribute")
    return _inline(value)


AnyPath = Annotated[str, AfterValidator(_without_nul)]
RelativePath = Annotated[str, BeforeValidator(_relative)]
Inline = Annotated[Any, BeforeValidator(_inline), WithJsonSchema({"type": ["object", "string"]})]
Referred = Annotated[
    Any, BeforeValidator(_referred), WithJsonSchema({"type": ["object", "string"]})
]


class SpecModification(Contract):
    """The change itself: the whole candidate text of ``target``, the capabilities it asks for, and its risk, 0 to 1."""

    modification_id: Identifier
    source: str
    target: RelativePath = Field(min_length=1, max_length=1000)
    requested_capabilities: list[CapabilityName] = Field(default_factory=list)
    risk: Share


class SpecEvidence(Contract):
    """What a conformal and a sequential test came to."""

    conformal: Trial | None = None
    sequential: Trial | None = None


class Scores(Contract):
    """Scores by task."""

    scores: dict[Identifier, Score] = Field(min_length=1, max_length=MAX_TASKS)


class AttestedScores(Scores):
    """Scores by task, who measured them, and on which source."""

    producer: Identifier
    source_sha256: Sha256


class FileState(Contract):
    """A file's content and mode, as three octal digits with a leading zero."""

    content: str
    mode: Literal["0644", "0755", "0600", "0700"] = "0644"


class FileStates(Contract):
    """Files by their paths."""

    files: dict[RelativePath, FileState] = Field(max_length=1_000)


class GovernedSpec(Contract):
    """A governed modification: what is changed, what was measured before and after, and what it is to be judged by.

    ``before``, ``after``, ``rules`` and the two of ``rollback`` are objects or paths of JSON files, beside the
    specification; ``gate`` is an object or a ``module:attribute``.
    """

    artifact_id: Identifier
    modification: SpecModification
    before: Inline
    after: Inline
    gate: Referred | None = None
    prover: Reference | None = None
    approval_store: AnyPath | None = Field(None, min_length=1)
    approval_key: Annotated[
        str, StringConstraints(pattern=r"^(?:[A-Za-z0-9][A-Za-z0-9._-]{0,99})?$")
    ] = ""
    rules: Inline | None = None
    contaminated: bool = False
    risk: Share | None = None
    rollback_current: Inline | None = None
    rollback_previous: Inline | None = None
    evidence: SpecEvidence = Field(default_factory=SpecEvidence)


class Stage(Contract):
    """One stage of the pipeline: how it ended, and the codes of what stopped it there."""

    name: Literal["gate", "proof", "approval", "evidence", "promotion", "rollback"]
    status: Literal["passed", "failed", "error", "timeout", "pending", "skipped", "not_required"]
    codes: list[str] = Field(default_factory=list)
    detail: str = ""


class RollbackStep(Contract):
    """What a rollback would do to one file; digests are null where there is no file."""

    path: str
    action: Literal["restore", "remove", "unchanged"]
    before_sha256: Sha256 | None
    after_sha256: Sha256 | None


class ReceiptApproval(Contract):
    """The person's decision that counted, or the request that waits for one."""

    key: str
    status: str
    decided_by: str | None = None
    decided_at: Timestamp | None = None
    note: str | None = None


class ReceiptEffect(Contract):
    """The mean difference over the tasks, how many there are, and each difference; decimals as text."""

    mean: str
    n: int
    per_task: dict[str, str]


class Receipt(Contract):
    """Whether a modification may be promoted, and what exactly it passed. Nothing was applied."""

    schema_version: SchemaVersion
    promoted: bool
    outcome: Literal["promote", "defer", "reject", "rollback"]
    codes: list[str]
    artifact_id: str
    modification_id: str
    target: str
    stages: list[Stage] = Field(min_length=6, max_length=6)
    reasons: list[Json]
    rules_effective: Json
    gate_effective: Json
    clamped: dict[str, str]
    notes: list[str]
    spec_sha256: Sha256
    source_sha256: Sha256
    before_sha256: Sha256
    after_sha256: Sha256
    content_sha256: Sha256
    effect: ReceiptEffect | None
    proof: Json | None
    approval: ReceiptApproval | None
    rehearsal: Json | None
    rollback_plan: list[RollbackStep] | None
    policy: PolicyIdentity
    decision_id: str
    created_at: Timestamp
