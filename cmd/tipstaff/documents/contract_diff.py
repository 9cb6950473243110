"""The difference of two contracts of one server, graded: what ``tipstaff contracts diff --json`` prints."""

from __future__ import annotations

from typing import Any, Literal

from tipstaff.documents.base import ActionClass, Contract, SchemaVersion, Sha256

Grade = Literal["none", "info", "warning", "error"]
Authority = Literal["widens", "narrows", "none"]
Kind = Literal[
    "tool_added",
    "tool_removed",
    "tool_renamed",
    "param_added_optional",
    "param_added_required",
    "param_removed",
    "param_renamed",
    "required_added",
    "required_removed",
    "type_changed",
    "constraint_tightened",
    "constraint_loosened",
    "default_changed",
    "description_changed",
    "title_changed",
    "annotation_changed",
    "output_changed",
    "prompt_changed",
    "resource_changed",
    "server_changed",
    "name_duplicate",
    "name_shadowed",
    "name_confusable",
    "hidden_text",
    "behaviour_changed",
    "canary_unstable",
    "version_lie",
    "equivalent_rewrite",
]


class ContractFinding(Contract):
    """One change with its grade.

    ``tool`` is null for what concerns the server or several tools, which ``message`` then lists. ``path`` is a JSON
    pointer into the tool as MCP spells it, else into the server's own members.
    """

    kind: Kind
    severity: Grade
    authority: Authority
    tool: str | None
    path: str
    before: Any
    after: Any
    message: str


class ContractDiff(Contract):
    """All changes from one contract to another.

    ``drift`` is whether the contract means another thing, ``severity`` the highest of its findings (``none`` where the
    digests are equal), ``change_class`` the class of the change that would take it up.
    """

    schema_version: SchemaVersion
    old_digest: Sha256 | None
    new_digest: Sha256
    drift: bool
    severity: Grade
    change_class: ActionClass | None
    low_risk: bool
    findings: list[ContractFinding]
