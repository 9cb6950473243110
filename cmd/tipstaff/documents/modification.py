"""The facts of a modification of an artifact by itself, stage by stage, as policy is asked about them.

Numbers that decide are billionths, as integers: of a risk, a score, a tolerance, an effect.
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from tipstaff.documents.base import (
    CapabilityName,
    Contract,
    Identifier,
    SchemaVersion,
    Sha256,
    Timestamp,
)
from tipstaff.documents.context import Actor, Context, Subject
from tipstaff.documents.modification_facts import StaticFacts


class ModificationAction(Contract):
    """What is asked for: to ``plan`` or to ``run``, the capabilities, and the risk in billionths.

    ``deployment_risk`` is the risk said of the deployment, where one is said.
    """

    type: str | None = None
    requested_capabilities: list[CapabilityName] | None = None
    risk: int | None = None
    deployment_risk: int | None = None


class ModificationResource(Contract):
    """The artifact, the modification and where it belongs, and the digests of its source and of all that is judged.

    ``content_sha256`` is what a person's approval binds to.
    """

    artifact_id: Identifier
    modification_id: Identifier
    target: str
    source_sha256: Sha256 | None = None
    content_sha256: Sha256 | None = None


class GateSettings(Contract):
    """What a gate is asked to hold a modification to; numbers in billionths, null where nothing is said."""

    granted_capabilities: list[CapabilityName] | None = None
    max_risk: int | None = None
    canary_risk: int | None = None
    tolerance: int | None = None
    allowed_imports: list[str] | None = None
    denied_imports: list[str] | None = None
    denied_calls: list[str] | None = None


class RuleSettings(Contract):
    """What promotion is asked to hold a modification to; ``min_effect`` in billionths."""

    min_effect: int | None = None
    min_tasks: int | None = None
    require_proof: bool | None = None
    require_approval: bool | None = None
    require_canary: bool | None = None
    require_conformal: bool | None = None
    require_sequential: bool | None = None
    require_rehearsal: bool | None = None


class AskedSettings(Contract):
    """What a specification asks to be judged by."""

    gate: GateSettings = Field(default_factory=GateSettings)
    rules: RuleSettings = Field(default_factory=RuleSettings)


class TeamSettings(AskedSettings):
    """What the team's file says: every number and list there only tightens, and capabilities are granted by it alone.

    ``allowed_suffixes`` are ends of targets whose language nobody reads.
    """

    allowed_suffixes: list[str] | None = None
    require_attestation: bool | None = None


class Supplied(Contract):
    """What comes with the specification.

    ``pinned_store`` is a store that the operator set, which the specification may leave unnamed. ``references`` are the
    ``module:attribute`` of its gate and its prover, each after what it is for.
    """

    prover: bool
    approval_store: bool
    rollback: bool
    pinned_store: bool = False
    references: list[str] = Field(default_factory=list)


class ProofFacts(Contract):
    """What a prover answered, or how it ended without an answer, and where it ran.

    ``code_sha256`` is the digest of the module that was asked, as it lies beside the specification.
    """

    status: str
    detail: str = ""
    code_sha256: Sha256 | None = None
    backend: str | None = None
    isolated: bool | None = None


class StoredApproval(Contract):
    """What the store holds for exactly this content; the status ``none`` where it holds nothing."""

    key: str
    status: str
    digest: Sha256 | None = None
    requested_by: Actor | None = None
    decided_by: Actor | None = None
    decided_at: Timestamp | None = None
    expires_at: Timestamp | None = None
    confirmations: int | None = None
    note: str | None = None


class Attestation(Contract):
    """Who measured scores, and the digest of the source that they were measured on."""

    producer: Identifier
    source_sha256: Sha256


class ScoreFacts(Contract):
    """Scores by task, in billionths, and who stands for them where anybody does."""

    before: dict[str, int]
    after: dict[str, int]
    before_sha256: Sha256
    after_sha256: Sha256
    before_attestation: Attestation | None = None
    after_attestation: Attestation | None = None


class RehearsalFacts(Contract):
    """Whether a rollback that was tried restored every file, with its mode and its links."""

    restored: bool
    detail: str = ""
    backend: str | None = None


class ModificationEvidence(Contract):
    """What is known of each stage; null where it was not looked at."""

    caller: str | None = None
    asked: AskedSettings = Field(default_factory=AskedSettings)
    team: TeamSettings = Field(default_factory=TeamSettings)
    supplied: Supplied | None = None
    static: StaticFacts | None = None
    proof: ProofFacts | None = None
    approval: StoredApproval | None = None
    contaminated: bool | None = None
    scores: ScoreFacts | None = None
    conformal: str | None = None
    sequential: str | None = None
    rehearsal: RehearsalFacts | None = None


class ModificationInput(Contract):
    """A modification of an artifact by itself, and whether it may be promoted."""

    schema_version: SchemaVersion
    kind: Literal["modification"]
    subject: Subject
    action: ModificationAction
    resource: ModificationResource
    evidence: ModificationEvidence
    context: Context | None = None
