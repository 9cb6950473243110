"""JSON Schemas of every document, from the pydantic models.

OPA's type checker looks into neither ``$ref`` under ``anyOf`` nor ``anyOf`` with null, and a misspelt path below one
would pass. So references are inlined and ``X | None`` is written as a list of types, which it does check.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from pydantic import BaseModel

from tipstaff.documents.acknowledgement import Acknowledgements
from tipstaff.documents.approval import ApprovalRequest, ChangeRecord
from tipstaff.documents.approval_event import ApprovalAsked, ApprovalConfirmed, ApprovalDecided
from tipstaff.documents.audit import AuditRecord, Checkpoint, Explanation
from tipstaff.documents.augment import ProseRuns
from tipstaff.documents.config import LocalConfig, TeamConfig
from tipstaff.documents.contract import Snapshot, SnapshotV1
from tipstaff.documents.contract_check import ContractCheck
from tipstaff.documents.contract_diff import ContractDiff
from tipstaff.documents.finding import Finding, Waivers
from tipstaff.documents.governed import GovernedSpec, Receipt
from tipstaff.documents.input import ChangeInput, ContractInput, ControlInput
from tipstaff.documents.modification import ModificationInput
from tipstaff.documents.sandbox import SandboxProfile, SandboxResult
from tipstaff.documents.verdict import Verdict

DOCUMENTS: dict[str, type[BaseModel]] = {
    "acknowledgements": Acknowledgements,
    "approval_asked": ApprovalAsked,
    "approval_confirmed": ApprovalConfirmed,
    "approval_decided": ApprovalDecided,
    "approval_request": ApprovalRequest,
    "audit_record": AuditRecord,
    "change": ChangeInput,
    "change_record": ChangeRecord,
    "checkpoint": Checkpoint,
    "contract": ContractInput,
    "contract_check": ContractCheck,
    "contract_diff": ContractDiff,
    "contract_snapshot": Snapshot,
    "contract_snapshot_1": SnapshotV1,
    "control": ControlInput,
    "explanation": Explanation,
    "finding": Finding,
    "governed_spec": GovernedSpec,
    "local_config": LocalConfig,
    "modification": ModificationInput,
    "prose_runs": ProseRuns,
    "receipt": Receipt,
    "sandbox_profile": SandboxProfile,
    "sandbox_result": SandboxResult,
    "team_config": TeamConfig,
    "verdict": Verdict,
    "waivers": Waivers,
}
_DIALECT = "https://json-schema.org/draft/2020-12/schema"
_NULL = {"type": "null"}


def render() -> Iterator[tuple[str, str]]:
    """Each schema's path from the repository's root, and its text."""
    for name, model in sorted(DOCUMENTS.items()):
        schema = model.model_json_schema(by_alias=True)
        definitions = schema.pop("$defs", {})
        document = {"$schema": _DIALECT, **_inline(schema, definitions)}
        yield f"contracts/{name}.schema.json", json.dumps(document, indent=2, sort_keys=True) + "\n"


def _inline(node: Any, definitions: dict[str, Any]) -> Any:
    if isinstance(node, list):
        return [_inline(item, definitions) for item in node]
    if not isinstance(node, dict):
        return node
    if "$ref" in node:
        return _inline(definitions[node["$ref"].removeprefix("#/$defs/")], definitions)
    if "discriminator" in node:
        node = {key: value for key, value in node.items() if key != "discriminator"}
    choices = [choice for choice in node.get("anyOf", []) if choice != _NULL]
    if len(choices) == 1 and _NULL in node["anyOf"]:
        rest = {key: value for key, value in node.items() if key not in ("anyOf", "default")}
        return {**rest, **_nullable(_inline(choices[0], definitions))}
    return {key: _inline(value, definitions) for key, value in node.items()}


def _nullable(schema: dict[str, Any]) -> dict[str, Any]:
    kinds = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    widened = {**schema, "type": [*kinds, "null"]}
    if "enum" in schema:
        widened["enum"] = [*schema["enum"], None]
    return widened
