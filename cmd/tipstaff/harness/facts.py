"""The document that policy is asked about, from a specification and what is known of its stages so far."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from tipstaff.documents.base import Json, parse
from tipstaff.documents.config import HarnessSettings
from tipstaff.documents.harness_settings import SpecGate
from tipstaff.documents.modification import (
    GateSettings,
    ModificationInput,
    ProofFacts,
    RehearsalFacts,
    RuleSettings,
    StoredApproval,
)
from tipstaff.documents.modification_facts import StaticFacts
from tipstaff.documents.strict_json import digest
from tipstaff.engine import Engine
from tipstaff.harness.specification import Measured, Specification

Caller = Literal["cli", "mcp"]
_DOMAIN = "tipstaff.governed.content.v1"
_GATE = frozenset(GateSettings.model_fields)
_RULES = frozenset(RuleSettings.model_fields)


@dataclass(frozen=True)
class Known:
    """What is known of a modification: its specification, what reading its source showed, and later stages' facts.

    ``pinned_store`` says whether the operator set a store of approvals.
    """

    specification: Specification
    subject: str
    caller: Caller
    act: Literal["plan", "run"]
    static: StaticFacts
    pinned_store: bool = False
    gate: SpecGate | None = None
    proof: ProofFacts | None = None
    approval: StoredApproval | None = None
    rehearsal: RehearsalFacts | None = None


def document(known: Known, engine: Engine) -> ModificationInput:
    """What is judged."""
    given = known.specification
    spec = given.spec
    modification = spec.modification
    whole = {
        "schema_version": 1,
        "kind": "modification",
        "subject": {"id": known.subject},
        "action": {
            "type": known.act,
            "requested_capabilities": list(modification.requested_capabilities),
            "risk": modification.risk,
            "deployment_risk": spec.risk,
        },
        "resource": {
            "artifact_id": spec.artifact_id,
            "modification_id": modification.modification_id,
            "target": modification.target,
            "source_sha256": given.source_sha256,
            "content_sha256": content_sha256(known, engine),
        },
        "evidence": {
            "caller": known.caller,
            "asked": _asked(known),
            "team": _team(engine),
            "supplied": {
                "prover": spec.prover is not None,
                "approval_store": spec.approval_store is not None,
                "rollback": given.current is not None,
                "pinned_store": known.pinned_store,
                "references": list(given.references),
            },
            "static": known.static,
            "proof": known.proof,
            "approval": known.approval,
            "contaminated": spec.contaminated,
            "scores": _scores(given),
            "conformal": spec.evidence.conformal,
            "sequential": spec.evidence.sequential,
            "rehearsal": known.rehearsal,
        },
    }
    return parse(ModificationInput, whole)


def content_sha256(known: Known, engine: Engine) -> str:
    """The digest of everything that a person's approval is of; any change of it is another request."""
    given = known.specification
    spec = given.spec
    return digest(
        {
            "artifact_id": spec.artifact_id,
            "modification": spec.modification.model_dump(exclude={"source"}),
            "source_sha256": given.source_sha256,
            "risk": spec.risk,
            "asked": _asked(known),
            "gate_reference": given.gate_reference,
            "prover": spec.prover,
            "prover_sha256": known.proof.code_sha256 if known.proof else None,
            "before_sha256": given.before.sha256,
            "after_sha256": given.after.sha256,
            "contaminated": spec.contaminated,
            "evidence": spec.evidence.model_dump(),
            "rollback": [_files(given.current), _files(given.previous)],
            "subject": known.subject,
            "bundles": engine.policy.revisions(),
            "config": [
                file.sha256 if file else None
                for file in (engine.project.team, engine.project.local)
            ],
        },
        domain=_DOMAIN,
    )


def _asked(known: Known) -> Json:
    gate = known.gate or known.specification.gate
    return {
        "gate": gate.model_dump() if gate else dict.fromkeys(_GATE),
        "rules": known.specification.rules.model_dump(),
    }


def _team(engine: Engine) -> Json:
    file = engine.project.team
    value = (file.value.get("harness") if file else None) or {}
    settings = parse(HarnessSettings, value).model_dump()
    return {
        "gate": {name: settings[name] for name in _GATE},
        "rules": {name: settings[name] for name in _RULES},
        "allowed_suffixes": settings["allowed_suffixes"],
        "require_attestation": settings["require_attestation"],
    }


def _scores(given: Specification) -> Json:
    return {
        "before": dict(given.before.scores),
        "after": dict(given.after.scores),
        "before_sha256": given.before.sha256,
        "after_sha256": given.after.sha256,
        "before_attestation": _attestation(given.before),
        "after_attestation": _attestation(given.after),
    }


def _attestation(measured: Measured) -> Json | None:
    if measured.producer is None or measured.source_sha256 is None:
        return None
    return {"producer": measured.producer, "source_sha256": measured.source_sha256}


def _files(files: Any) -> Json | None:
    return None if files is None else {path: state.model_dump() for path, state in files.items()}
