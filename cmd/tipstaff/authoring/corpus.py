"""Cases to compare policies over: complete input documents from examples, a folder, or the audit trail."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tipstaff import declared
from tipstaff.authoring.variations import variations
from tipstaff.documents import strict_json
from tipstaff.documents.audit import Explanation
from tipstaff.documents.base import Json, parse
from tipstaff.documents.input import parse_input
from tipstaff.documents.verdict import Verdict
from tipstaff.errors import ContractError
from tipstaff.ledger.record import EFFECTS
from tipstaff.ledger.trail import Trail

_PATTERN = "*.input.json"
# One example is varied in every way; to vary all of them so would ask the same questions over again.
_CROSSED = "change-allow"


@dataclass(frozen=True)
class Case:
    """One complete document, its digest as it came, and the verdict that the trail has for it."""

    name: str
    document: Json
    sha256: str
    recorded: Verdict | None = None

    @property
    def is_approved(self) -> bool:
        """Whether the document carries a person's approval, which is bound to the policy of its day."""
        return self.document["context"].get("approval") is not None


def examples() -> list[Case]:
    """The shipped examples and their variations: classes, tiers, files, tests, capabilities, actors, times."""
    cases = from_folder(declared.folder("contracts") / "examples")
    varied = [
        _case(f"{case.name} {name}", document)
        for case in cases
        for name, document in variations(case.document, crossed=case.name == _CROSSED)
    ]
    return [*cases, *varied]


def from_folder(folder: Path) -> list[Case]:
    """The files ``*.input.json`` below a folder, by name. Raises ``ContractError`` naming a file that is no case."""
    return [
        _case(path.relative_to(folder).as_posix().removesuffix(".input.json"), _read(path))
        for path in sorted(folder.rglob(_PATTERN))
    ]


def from_trail(trail: Trail) -> Iterator[Case]:
    """Every recorded decision, oldest first, as the document that was asked about.

    Raises ``EvidenceError`` where the trail cannot be read.
    """
    for record in trail.records():
        if record.decision not in EFFECTS or record.decision_id is None:
            continue
        explanation = parse(Explanation, record.detail, file=str(trail.path))
        yield Case(
            record.decision_id,
            document_of(explanation),
            record.input_sha256 or record.hash,
            explanation.outcome,
        )


def document_of(explanation: Explanation) -> Json:
    """The whole input document that a decision was made on."""
    return {
        **explanation.event,
        "evidence": explanation.evidence,
        "context": explanation.preferences,
    }


def _case(name: str, document: Json) -> Case:
    return Case(name, document, hashlib.sha256(strict_json.canonical(document)).hexdigest())


def _read(path: Path) -> Json:
    if path.is_symlink() or not path.is_file():
        raise ContractError(
            "file.unreadable",
            "a case is a plain file",
            file=str(path),
            fix="put the document itself there, or move this away",
        )
    value: Any = strict_json.load(path)
    context = value.get("context") if isinstance(value, dict) else None
    if not isinstance(context, dict):
        raise ContractError(
            "corpus.incomplete",
            "a case is a complete input document, and this one has no context",
            file=str(path),
            field="context",
            fix="start from a file of contracts/examples, or take --from-audit",
        )
    parse_input(value, file=str(path))
    return dict(value)
