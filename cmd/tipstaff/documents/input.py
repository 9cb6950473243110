"""The input document: AuthZEN's subject, action, resource and context, and the evidence.

A caller writes everything but ``context``; the engine owns that and overwrites it. Facts only: nothing in here is
a judgement. A safety fact may be absent, and Rego says what follows.
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from tipstaff.documents.augment import AugmentMeasures
from tipstaff.documents.base import (
    CapabilityName,
    Contract,
    Identifier,
    Json,
    SchemaVersion,
    Sha256,
    parse,
)
from tipstaff.documents.context import Actor as Actor
from tipstaff.documents.context import ApprovalFacts as ApprovalFacts
from tipstaff.documents.context import Context
from tipstaff.documents.context import PauseFacts as PauseFacts
from tipstaff.documents.context import Subject as Subject
from tipstaff.documents.contract_facts import ContractEvidence
from tipstaff.documents.drift_facts import DriftFacts
from tipstaff.documents.modification import ModificationInput
from tipstaff.documents.sandbox import Kernel
from tipstaff.errors import ContractError


class ChangeAction(Contract):
    """What kind of change it says it is, what it asks for, and what its added code was found to use.

    ``found_capabilities`` is None where nobody looked.
    """

    class_: str | None = Field(None, alias="class")
    requested_capabilities: list[CapabilityName] = Field(default_factory=list)
    found_capabilities: list[CapabilityName] | None = None


class ChangedFile(Contract):
    """One file of the diff, measured between the base tree and the patched tree.

    ``language`` is None where no reader of ours knows it; ``touches_existing_definition`` is None where that
    cannot be told.
    """

    path: str
    status: Literal["added", "modified", "deleted", "renamed", "copied", "type_changed"]
    old_path: str | None = None
    mode_changed: bool = False
    binary: bool = False
    language: str | None = None
    added: int = Field(ge=0)
    removed: int = Field(ge=0)
    additions_only: bool
    touches_existing_definition: bool | None = None


class ChangeResource(Contract):
    """The commit the diff applies to, the SHA-256 of the diff's bytes, and its files."""

    base: str
    diff_sha256: Sha256
    files: list[ChangedFile]


class TestFacts(Contract):
    """Golden-test counts read from the run's JUnit XML, bound to the diff that was tested.

    ``command`` is the command line that ran them.
    """

    passed: int = Field(ge=0)
    failed: int = Field(ge=0)
    skipped: int = Field(ge=0)
    diff_sha256: Sha256
    command: str | None = None


class SandboxFacts(Contract):
    """Where the tests ran, and which protections a probe inside saw hold.

    ``kernel`` is whose system calls that probe reached, ``spec_sha256`` the digest of what was run and how,
    ``input_sha256`` that of the files it was run on.
    """

    backend: str
    profile: str
    isolated: bool
    held: list[str] = Field(default_factory=list)
    backend_version: str | None = None
    kernel: Kernel | None = None
    spec_sha256: Sha256 | None = None
    input_sha256: Sha256 | None = None


class AugmentFacts(AugmentMeasures):
    """What was measured about replacing a block by a script, and where the script's own runs took place."""

    sandbox: SandboxFacts | None = None


class ChangeEvidence(Contract):
    """What was measured about the change. None means that it was not measured."""

    tests: TestFacts | None = None
    sandbox: SandboxFacts | None = None
    drift: DriftFacts | None = None
    augment: AugmentFacts | None = None


class ChangeInput(Contract):
    """A change to files of the project."""

    schema_version: SchemaVersion
    kind: Literal["change"]
    subject: Subject
    action: ChangeAction
    resource: ChangeResource
    evidence: ChangeEvidence = Field(default_factory=ChangeEvidence)
    context: Context | None = None


class ControlAction(Contract):
    """An act of a person upon the engine itself."""

    type: str | None = None


class ControlResource(Contract):
    """What the act is upon: an approval's key, or ``pause:global`` and the like."""

    id: Identifier


class ControlInput(Contract):
    """Somebody approves, rejects, or resumes. ``evidence`` may name who asked: ``requested_by``, an actor."""

    schema_version: SchemaVersion
    kind: Literal["control"]
    subject: Subject
    action: ControlAction
    resource: ControlResource
    evidence: Json = Field(default_factory=dict)
    context: Context | None = None


def control(act: str, upon: str, *, subject: str, evidence: Json | None = None) -> ControlInput:
    """The document that asks whether an act upon the engine may be done."""
    return ControlInput(
        schema_version=1,
        kind="control",
        subject=Subject(id=subject),
        action=ControlAction(type=act),
        resource=ControlResource(id=upon),
        evidence=evidence or {},
    )


class ContractAction(Contract):
    """What is asked about a contract, and what the caller wants to fail on.

    ``diff``, ``check`` and ``propose`` look at it, ``accept`` commits it, ``canary`` records a call, ``call`` makes it
    again.
    """

    type: str | None = None
    fail_on: str | None = None
    fail_on_authority: str | None = None


class ContractResource(Contract):
    """The server by its id, and the digests of both of its contracts; null where there is none."""

    id: Identifier
    old_digest: Sha256 | None = None
    new_digest: Sha256 | None = None


class ContractInput(Contract):
    """What changed in the contract of an MCP server, and what is to be done about it."""

    schema_version: SchemaVersion
    kind: Literal["contract"]
    subject: Subject
    action: ContractAction = Field(default_factory=ContractAction)
    resource: ContractResource
    evidence: ContractEvidence = Field(default_factory=ContractEvidence)
    context: Context | None = None


class OtherInput(Contract):
    """A kind that no model describes; it is asked about all the same, and policy answers."""

    schema_version: SchemaVersion
    kind: Identifier
    subject: Subject
    action: Json
    resource: Json
    evidence: Json = Field(default_factory=dict)
    context: Context | None = None


InputDocument = ChangeInput | ContractInput | ControlInput | ModificationInput | OtherInput


def parse_input(value: Any, *, file: str | None = None) -> InputDocument:
    """Validate an input document by its kind; raises ``ContractError`` naming the field."""
    if not isinstance(value, dict):
        raise ContractError(
            "document.invalid",
            "an input document is a JSON object",
            file=file,
            fix="start from contracts/examples/change-allow.input.json",
        )
    kind = value.get("kind")
    if kind == "change":
        return parse(ChangeInput, value, file=file)
    if kind == "contract":
        return parse(ContractInput, value, file=file)
    if kind == "control":
        return parse(ControlInput, value, file=file)
    if kind == "modification":
        return parse(ModificationInput, value, file=file)
    return parse(OtherInput, value, file=file)
