"""The state of an approval store: the fold of its events, each of which must be one that could follow."""

from __future__ import annotations

from dataclasses import dataclass

from tipstaff.documents.approval import ApprovalRequest
from tipstaff.documents.approval_event import ApprovalAsked, ApprovalConfirmed, ApprovalDecided
from tipstaff.documents.base import Json, parse
from tipstaff.errors import ContractError
from tipstaff.ledger.approval_lines import Event, read_event

_ASKED = set(ApprovalAsked.model_fields) - {"event", "schema_version"}


@dataclass(slots=True)
class Entry:
    """One request with what became of it.

    Of events no more is kept than what later ones are held against, and their lines: hundreds of thousands of small
    objects would cost more than reading them.
    """

    line: bytes
    created_at: str
    expires_at: str
    confirmations: int
    confirmed: ApprovalConfirmed | None = None
    outcome: str = "pending"
    decision: bytes = b""

    def status(self, now: str) -> str:
        """How it stands at an instant; time is over at its very end."""
        if self.outcome == "pending" and now >= self.expires_at:
            return "expired"
        return self.outcome

    def may_be_asked_again(self, now: str) -> bool:
        """Whether nothing follows from it any more. A rejection stands for good."""
        if self.outcome == "consumed":
            return True
        return self.outcome != "rejected" and now >= self.expires_at

    def asked(self) -> ApprovalAsked:
        """What was asked."""
        event = read_event(self.line)
        assert isinstance(event, ApprovalAsked)  # noqa: S101  it was read as one before
        return event

    def request(self, now: str) -> ApprovalRequest:
        """The request as it stands at an instant."""
        fields: Json = {"status": self.status(now)}
        decided = read_event(self.decision) if self.decision else None
        if isinstance(decided, ApprovalDecided) and decided.by is not None:
            by = decided.by.model_dump()
            fields |= {"decided_by": by, "decided_at": decided.at, "note": decided.note}
        return parse(ApprovalRequest, self.asked().model_dump(include=_ASKED) | fields)


class Fold:
    """Requests by key, the one asked last at the end."""

    def __init__(self) -> None:
        self.entries: dict[str, Entry] = {}

    def add(self, event: Event, line: bytes) -> None:
        """Take the next event, with its line. Raises ``ContractError`` where it cannot follow those before it."""
        if isinstance(event, ApprovalAsked):
            span = event.created_at, event.expires_at
            self.take_request(event.key, event.digest, span, event.confirmations, line)
        elif isinstance(event, ApprovalDecided):
            self.decide(event.key, event.status, event.at, is_by=event.by is not None, line=line)
        else:
            self._confirm(event)

    def take_request(
        self, key: str, digest: str, span: tuple[str, str], confirmations: int, line: bytes
    ) -> None:
        """Take a request; ``span`` is when it is made and when it expires. Raises as ``add`` does."""
        created_at, expires_at = span
        if not key.endswith(digest):
            raise _impossible("the key is not that of the digest")
        if expires_at <= created_at:
            raise _impossible("it expires before it is made")
        before = self.entries.pop(key, None)
        if before is not None and not before.may_be_asked_again(created_at):
            raise _impossible("the same request stands already")
        self.entries[key] = Entry(line, created_at, expires_at, confirmations)

    def decide(self, key: str, status: str, at: str, *, is_by: bool, line: bytes) -> None:
        """Take a decision; ``is_by`` is whether it names somebody. Raises as ``add`` does."""
        entry = self._known(key)
        if status == "consumed":
            if entry.outcome != "approved":
                raise _impossible("used without an approval")
            entry.outcome = status
            return
        if status == "expired":
            if entry.outcome != "pending" or at < entry.expires_at:
                raise _impossible("expired before its time or after a decision")
        else:
            _demand_open(entry, at)
            if not is_by:
                raise _impossible("a decision by nobody")
            if status == "approved" and entry.confirmations > 1:
                first = entry.confirmed
                if first is None or not at < (first.token_expires_at or ""):
                    raise _impossible("approved without a first confirmation in time")
        entry.outcome, entry.decision, entry.confirmed = status, line, None

    def _confirm(self, event: ApprovalConfirmed) -> None:
        entry = self._known(event.key)
        _demand_open(entry, event.at)
        if entry.confirmations == 1:
            raise _impossible("a first confirmation where one is enough")
        if (event.token_sha256 is None) != (event.token_expires_at is None):
            raise _impossible("a token needs an end")
        entry.confirmed = event if event.token_sha256 else None

    def _known(self, key: str) -> Entry:
        entry = self.entries.get(key)
        if entry is None:
            raise _impossible("no request of this key comes before it")
        return entry


def _demand_open(entry: Entry, at: str) -> None:
    if entry.outcome != "pending":
        raise _impossible("the request is decided already")
    if not entry.created_at <= at < entry.expires_at:
        raise _impossible("not within the request's time")


def _impossible(what: str) -> ContractError:
    return ContractError("store.corrupt", what, fix="restore the line")
