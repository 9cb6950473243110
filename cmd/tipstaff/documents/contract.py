"""Snapshots of MCP servers: what a server advertises, as one committed ``*.mcpc.json`` file, and how it is digested.

Tools, prompts, resources and templates are kept member by member as MCP spells them, known or not. Reading never gives
an empty contract in place of an unreadable one: whatever is wrong with a file is ``contract.invalid``.
"""

from __future__ import annotations

import hashlib
import json
import marshal
import re
from collections.abc import Callable, Iterable
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, StringConstraints

from tipstaff.documents import strict_json
from tipstaff.documents.base import Contract, Identifier, Json, SchemaVersion, Sha256, parse
from tipstaff.documents.canary import Canaries
from tipstaff.errors import ContractError

MAX_BYTES = 16 << 20
SUFFIX = ".mcpc.json"
# A version of marshal in which equal bytes are equal values of equal types, in one order.
_WITHOUT_REFERENCES = 2
_DOMAIN = "tipstaff/contract/2"
_FIX = "write the file with `tipstaff contracts import` or `snapshot`, not by hand"
# Controls, formats, private and unassigned characters: written as escapes, so that a reader of the file sees them.
_UNSEEN = re.compile(
    "[\u007f-\u009f\u00ad\u0600-\u0605\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff\ufff0-\uffff"
    "\ue000-\uf8ff\U000e0000-\U0010ffff]"
)
SavedAt = Annotated[
    str,
    StringConstraints(
        pattern=r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?(Z|[+-]\d\d:\d\d)$",
    ),
]


def _two(value: Any) -> Any:
    if type(value) is not int:
        raise ValueError("must be the integer 2")
    return value


class Source(Contract):
    """How a snapshot was taken: each member changes what a server advertises.

    ``arguments`` and ``url`` stand without what has the form of a secret. ``environment`` holds names of variables,
    never values; ``dependencies`` maps a package to its version, and ``executable_sha256`` is the digest of the program
    that was started.
    """

    transport: Literal["stdio", "http", "import"] = "import"
    command: str | None = None
    arguments: list[str] = Field(default_factory=list)
    url: str | None = None
    environment: list[str] = Field(default_factory=list)
    client_capabilities: Json = Field(default_factory=dict)
    dependencies: dict[str, str] = Field(default_factory=dict)
    executable_sha256: Sha256 | None = None


class Snapshot(Contract):
    """The whole contract of one MCP server, as it was advertised at one time.

    ``tools``, ``prompts``, ``resources`` and ``resource_templates`` are objects as MCP spells them, sorted by name or
    URI. ``canaries`` are recorded calls; ``behavior_fingerprint`` is what version 1 keeps of such.
    """

    schema_version: Annotated[Literal[2], BeforeValidator(_two)]
    server_id: Identifier
    captured_at: SavedAt
    source: Source = Field(default_factory=Source)
    protocol_version: str | None = None
    server_info: Json | None = None
    capabilities: Json | None = None
    instructions: str | None = None
    tools: list[Json]
    prompts: list[Json] = Field(default_factory=list)
    resources: list[Json] = Field(default_factory=list)
    resource_templates: list[Json] = Field(default_factory=list)
    behavior_fingerprint: str | None = None
    canaries: Canaries = Field(default_factory=list)

    @cached_property
    def tool_bytes(self) -> list[bytes]:
        """The canonical bytes of each tool, in order."""
        return [strict_json.canonical(tool) for tool in self.tools]

    @cached_property
    def digest(self) -> str:
        """SHA-256 over the canonical bytes of everything but ``captured_at``, in lower-case hexadecimal."""
        rest = self.model_dump(exclude={"captured_at", "tools"})
        whole = hashlib.sha256(_DOMAIN.encode() + b"\0" + strict_json.canonical(rest))
        for tool in self.tool_bytes:
            whole.update(b"\0" + tool)
        return whole.hexdigest()


class ToolV1(Contract):
    """A tool as version 1 knows it."""

    name: Identifier
    description: str = ""
    input_schema: Json = Field(default_factory=dict)


class SnapshotV1(Contract):
    """Version 1 of the file: names, descriptions and input schemas of tools."""

    schema_version: SchemaVersion
    server_id: Identifier
    captured_at: SavedAt
    tools: list[ToolV1]
    behavior_fingerprint: str | None = None


def definition_sha256(tool: Json) -> str:
    """SHA-256 over the canonical bytes of one tool, as it was advertised, in lower-case hexadecimal."""
    return hashlib.sha256(strict_json.canonical(whole_numbers(tool))).hexdigest()


def read_snapshot(path: Path) -> Snapshot:
    """A committed snapshot of either version; raises ``ContractError``, mostly ``contract.invalid``."""
    value = read_json(path)
    file = str(path)
    try:
        return snapshot(value, file=file)
    except ContractError as error:
        if error.code == "contract.invalid":
            raise
        raise invalid(error.message, file, field=error.field) from error


def read_json(path: Path) -> Any:
    """The JSON of a contract's file, in which whole numbers are integers however they are written."""
    try:
        value = strict_json.load(path, max_bytes=MAX_BYTES, any_form=True)
    except ContractError as error:
        if error.code == "file.unreadable":
            raise
        raise invalid(error.message, str(path), field=error.field) from error
    return whole_numbers(value)


def snapshot(value: Any, *, file: str | None = None) -> Snapshot:
    """A snapshot from plain data of either version; names must be there, and each only once."""
    if isinstance(value, dict) and value.get("schema_version") == 1:
        found = _upgraded(parse(SnapshotV1, value, file=file))
    else:
        found = parse(Snapshot, value, file=file)
    demand_names(found, file)
    for place, tool in _repeated(found.tools, "name"):
        name = json.dumps(tool["name"])[:200]
        raise invalid(f"two tools are called {name}", file, field=f"tools.{place}.name")
    return in_order(found)


def snapshot_of(data: bytes, *, file: str | None = None) -> Snapshot:
    """The snapshot that a file of these bytes holds; raises ``ContractError``."""
    value = strict_json.loads(data, file=file, max_bytes=MAX_BYTES, any_form=True)
    return snapshot(whole_numbers(value), file=file)


def is_same(old: Snapshot, new: Snapshot) -> bool:
    """Whether two snapshots hold the same values, whatever the order of keys; without a digest, and so faster.

    Equal snapshots have equal digests. The other way, a number may be spelled in two ways.
    """
    if old.tools != new.tools:
        return False
    rest = [one.model_dump(exclude={"captured_at", "tools"}) for one in (old, new)]
    # To Python true is 1; texts tell them apart.
    return _texts_agree(*rest) and (
        _bytes_agree(old.tools, new.tools) or _texts_agree(old.tools, new.tools)
    )


def _bytes_agree(one: Any, other: Any) -> bool:
    return marshal.dumps(one, _WITHOUT_REFERENCES) == marshal.dumps(other, _WITHOUT_REFERENCES)


def _texts_agree(one: Any, other: Any) -> bool:
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)


def altered(found: Snapshot, **members: Any) -> Snapshot:
    """The snapshot with other members, and so with another digest."""
    copy = found.model_copy(update=members)
    for cached in ("digest", "tool_bytes"):
        copy.__dict__.pop(cached, None)
    return copy


def share_bytes(old: Snapshot, new: Snapshot) -> None:
    """Let a snapshot take over the canonical bytes of those of its tools that another one has, member by member."""
    if "tool_bytes" in new.__dict__:
        return
    known = {
        marshal.dumps(tool, _WITHOUT_REFERENCES): data
        for tool, data in zip(old.tools, old.tool_bytes, strict=True)
    }
    new.__dict__["tool_bytes"] = [
        known.get(marshal.dumps(tool, _WITHOUT_REFERENCES)) or strict_json.canonical(tool)
        for tool in new.tools
    ]


def demand_names(found: Snapshot, file: str | None = None) -> None:
    """Raise ``ContractError`` (``contract.invalid``) for an entry without a name, or a schema that is no object."""
    for member, key in _KEYS:
        for place, entry in enumerate(getattr(found, member)):
            if not isinstance(entry.get(key), str) or not entry[key]:
                raise invalid(f"has no {key}", file, field=f"{member}.{place}.{key}")
    for place, tool in enumerate(found.tools):
        for key in ("inputSchema", "outputSchema"):
            if key in tool and not isinstance(tool[key], dict):
                raise invalid("a schema is an object", file, field=f"tools.{place}.{key}")


def in_order(found: Snapshot) -> Snapshot:
    """The same contract with its lists sorted, so that an order in which a server answers is no difference."""
    lists = {
        member: sorted(getattr(found, member), key=_order(key))
        for member, key in _KEYS
        if len(getattr(found, member)) > 1
    }
    return found.model_copy(update=lists) if lists else found


def text(found: Snapshot) -> str:
    """The file's text: keys sorted, two spaces, one final newline; characters that nobody would see are escaped."""
    plain = found.model_dump(exclude_none=True)
    shown = json.dumps(plain, indent=2, sort_keys=True, ensure_ascii=False)
    return _UNSEEN.sub(_escape, shown) + "\n"


def whole_numbers(value: Any) -> Any:
    """The value with 1.0 as 1, which JSON does not tell apart."""
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return int(value)
    if isinstance(value, dict):
        return {key: whole_numbers(item) for key, item in value.items()}
    return [whole_numbers(item) for item in value] if isinstance(value, list) else value


def invalid(message: str, file: str | None, *, field: str | None = None) -> ContractError:
    """The error for a file that is no contract."""
    return ContractError("contract.invalid", message, file=file, field=field, fix=_FIX)


_KEYS = (
    ("tools", "name"),
    ("prompts", "name"),
    ("resources", "uri"),
    ("resource_templates", "uriTemplate"),
)


def _order(key: str) -> Callable[[Json], tuple[str, bytes]]:
    return lambda entry: (entry[key], strict_json.canonical(entry))


def _repeated(entries: Iterable[Json], key: str) -> Iterable[tuple[int, Json]]:
    seen: set[str] = set()
    for place, entry in enumerate(entries):
        if entry[key] in seen:
            yield place, entry
        seen.add(entry[key])


def _upgraded(old: SnapshotV1) -> Snapshot:
    tools = [
        {"name": tool.name, "inputSchema": tool.input_schema}
        | ({"description": tool.description} if tool.description else {})
        for tool in old.tools
    ]
    return Snapshot(
        schema_version=2,
        server_id=old.server_id,
        captured_at=old.captured_at,
        tools=tools,
        behavior_fingerprint=old.behavior_fingerprint,
    )


def _escape(found: re.Match[str]) -> str:
    return json.dumps(found[0])[1:-1]
