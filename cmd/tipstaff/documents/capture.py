"""A capture of an MCP server, in MCP's own members, as a snapshot."""

from __future__ import annotations

from typing import Any, NoReturn

from tipstaff.documents.base import Json, parse
from tipstaff.documents.contract import (
    Snapshot,
    Source,
    demand_names,
    in_order,
    invalid,
    whole_numbers,
)
from tipstaff.errors import ContractError

# What a list result or an answer to `initialize` may hold besides, and that says nothing of the contract.
_PASSING = {"ttlMs", "cacheScope", "resultType", "nextCursor", "_meta"}
_MEMBERS = {
    "protocolVersion": "protocol_version",
    "serverInfo": "server_info",
    "capabilities": "capabilities",
    "instructions": "instructions",
    "tools": "tools",
    "prompts": "prompts",
    "resources": "resources",
    "resourceTemplates": "resource_templates",
}


def from_capture(
    value: Any,
    server_id: str,
    captured_at: str,
    *,
    source: Source | None = None,
    file: str | None = None,
) -> Snapshot:
    """A snapshot from MCP's own members, or from one whole ``tools/list`` result.

    Raises ``ContractError``: ``contract.error_response`` where the server refused, ``contract.incomplete`` where a page
    is missing, ``contract.invalid`` for what is no capture. Two tools of one name stay two here.
    """
    if not isinstance(value, dict):
        raise invalid("a capture is one JSON object", file)
    _demand_result(value, file)
    known = {
        ours: value[theirs] for theirs, ours in _MEMBERS.items() if value.get(theirs) is not None
    }
    meta = value.get("_meta")
    named = meta.get("io.modelcontextprotocol/serverInfo") if isinstance(meta, dict) else None
    if isinstance(named, dict):
        known.setdefault("server_info", named)
    whole = {"schema_version": 2, "server_id": server_id, "captured_at": captured_at, **known}
    try:
        found = parse(Snapshot, whole_numbers(whole), file=file)
    except ContractError as error:
        raise invalid(error.message, file, field=error.field) from error
    demand_names(found, file)
    return in_order(found.model_copy(update={"source": source or Source()}))


def _demand_result(value: Json, file: str | None) -> None:
    if "error" in value and "tools" not in value:
        error = value["error"]
        said = error.get("message") if isinstance(error, dict) else error
        _refuse(
            "contract.error_response", f"the server answered with an error: {str(said)[:200]}", file
        )
    if isinstance(value.get("nextCursor"), str):
        _refuse(
            "contract.incomplete", "the list goes on: the capture holds only one page of it", file
        )
    unknown = sorted(value.keys() - _MEMBERS.keys() - _PASSING)
    if unknown:
        raise invalid("unknown member", file, field=unknown[0][:100])
    if "tools" not in value:
        raise invalid("required, but absent", file, field="tools")


def _refuse(code: str, message: str, file: str | None) -> NoReturn:
    raise ContractError(
        code, message, file=file, fix="capture the server again, every page of every list"
    )
