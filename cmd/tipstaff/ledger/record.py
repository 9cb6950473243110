"""One line of the trail: how a record becomes bytes, and how bytes are read back.

Secrets are taken out before anything is digested. A line is the record's RFC 8785 bytes and a newline. The keys stand
in a fixed order, so the bytes that ``hash`` covers are the line's own without the ``hash`` member, and a reader need
not parse ``detail`` to prove them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from hashlib import sha256
from typing import NamedTuple, get_args

from pydantic_core import from_json

from tipstaff.documents.audit import AuditRecord, Entry, Explanation
from tipstaff.documents.base import Effect, Json, parse
from tipstaff.documents.context import Actor
from tipstaff.documents.redaction import is_suspicious, redact, redact_text
from tipstaff.documents.strict_json import canonical
from tipstaff.errors import ContractError

ZERO_HASH = "0" * 64
MAX_LINE = 8 << 20
MAX_SEQ = 2**53 - 1
EFFECTS = frozenset(get_args(Effect))

_TEXT = rb'"[^"\\]*(?:\\.[^"\\]*)*"'
_HASH = rb'"([0-9a-f]{64})"'
_after_detail = re.compile(
    rb'"hash":' + _HASH + rb',("input_sha256":(?:null|"[0-9a-f]{64}"),"prev":' + _HASH
    + rb',"sandbox_backend":(?:null|' + _TEXT + rb'),"seq":([1-9][0-9]{0,15}),"target":'
    + _TEXT + rb"\})\n"
).fullmatch  # fmt: skip


@dataclass(frozen=True)
class NewRecord:
    """What to record. ``detail`` of a decision is an ``Explanation`` as JSON; of another entry, what happened."""

    decision: Entry
    target: str
    detail: Json
    actor: Actor
    action_class: str | None = None
    autonomy_tier: str | None = None
    sandbox_backend: str | None = None
    decision_id: str | None = None
    codes: tuple[str, ...] = ()
    bundle_revision: str | None = None
    input_sha256: str | None = None


class Link(NamedTuple):
    """Where a line stands in the chain, and whether its contents have the hash it claims."""

    seq: int
    prev: str
    hash: str
    intact: bool


def seal(new: NewRecord, *, seq: int, prev: str, at: str) -> tuple[AuditRecord, bytes]:
    """The record and its line. Raises ``ContractError`` where a field or an explanation is not what it must be."""
    if new.decision in EFFECTS:
        parse(Explanation, new.detail)
    fields = {
        "seq": seq,
        "at": at,
        "action_class": new.action_class,
        "target": new.target,
        "decision": new.decision,
        "autonomy_tier": new.autonomy_tier,
        "sandbox_backend": new.sandbox_backend,
        "detail": new.detail,
        "decision_id": new.decision_id,
        "actor": new.actor.model_dump(),
        "codes": list(new.codes),
        "bundle_revision": new.bundle_revision,
        "input_sha256": new.input_sha256,
        "prev": prev,
    }
    body = canonical(fields)
    if is_suspicious(body.decode()):
        fields |= {"target": redact_text(new.target), "detail": redact(new.detail)}
        body = canonical(fields)
    digest = sha256(body).hexdigest()
    record = parse(AuditRecord, {**fields, "hash": digest})
    # After ``detail`` come only flat members, and quotes inside a string are escaped: the last one is the record's own.
    cut = body.rindex(b',"input_sha256":')
    line = b'%b,"hash":"%b"%b\n' % (body[:cut], digest.encode(), body[cut:])
    if len(line) > MAX_LINE:
        raise ContractError(
            "trail.too_large",
            f"a record of {len(line)} bytes; at most {MAX_LINE} are kept",
            fix="record a digest of the large part",
        )
    return record, line


def read_link(line: bytes) -> Link | None:
    """Check one line (newline included) against its own hash; None where it is no record at all."""
    start = line.rfind(b'"hash":"')
    found = _after_detail(line, start) if start > 0 else None
    if found is None:
        return None
    digest, rest, prev, seq = found.groups()
    contents = sha256(line[:start])
    contents.update(rest)
    claimed = digest.decode()
    return Link(int(seq), prev.decode(), claimed, contents.hexdigest() == claimed)


def read_record(line: bytes) -> AuditRecord:
    """The record in a line; raises ``ContractError`` where the line is not the canonical bytes of one."""
    try:
        value = from_json(line)
    except ValueError as error:
        raise ContractError("json.syntax", str(error), fix="restore the line") from error
    record = parse(AuditRecord, value)
    if canonical(value) != line.removesuffix(b"\n"):
        raise ContractError(
            "json.not_canonical", "not the canonical bytes of its record", fix="restore the line"
        )
    return record
