"""The state of an approval store: the fold of its events, each of which must be one that could follow."""

from __future__ import annotations

from dataclasses import dataclass

from tipstaff.documents.approval import ApprovalRequest, ApprovalStatus
from tipstaff.documents.approval_event import ApprovalAsked, ApprovalConfirmed, ApprovalDecided
from tipstaff.documents.base import parse
from tipstaff.errors import ContractError
from tipstaff.ledger.approval_lines import Event

_ASKED = set(ApprovalAsked.model_fields) - {"event", "schema_version"}


@dataclass(slots=True)
class Entry:
    """One request with what became of it; ``confirmed`` is the last step of a pair of confirmations."""

    asked: ApprovalAsked
    confirmed: ApprovalConfirmed | None = None
    decided: ApprovalDecided | None = None
    is_used: bool = False

    def status(self, now: str) -> ApprovalStatus:
        """How it stands at an instant; time is over at its very end."""
        if self.is_used:
            return "consumed"
        if self.decided is not None:
            return self.decided.status
        return "expired" if now >= self.asked.expires_at else "pending"

    def may_be_asked_again(self, now: str) -> bool:
        """Whether nothing follows from it any more. A rejection stands for good."""
        if self.is_used:
            return True
        rejected = self.decided is not None and self.decided.status == "rejected"
        return not rejected and now >= self.asked.expires_at

    def request(self, now: str) -> ApprovalRequest:
        """The request as it stands at an instant."""
        decided = self.decided
        fields = {
            "status": self.status(now),
            "decided_by": decided.by.model_dump() if decided and decided.by else None,
            "decided_at": decided.at if decided and decided.by else None,
            "note": decided.note if decided else None,
        }
        return parse(ApprovalRequest, self.asked.model_dump(include=_ASKED) | fields)


class Fold:
    """Requests by key, the one asked last at the end."""

    def __init__(self) -> None:
        self.entries: dict[str, Entry] = {}

    def add(self, event: Event) -> None:
        """Take the next event. Raises ``ContractError`` where it cannot follow those before it."""
        if isinstance(event, ApprovalAsked):
            wrong = self._ask(event)
        elif (entry := self.entries.get(event.key)) is None:
            wrong = "no request of this key comes before it"
        elif isinstance(event, ApprovalConfirmed):
            wrong = _confirm(entry, event)
        else:
            wrong = _decide(entry, event)
        if wrong is not None:
            raise ContractError("store.corrupt", wrong, fix="restore the line")

    def _ask(self, event: ApprovalAsked) -> str | None:
        before = self.entries.get(event.key)
        if not event.key.endswith(event.digest):
            return "the key is not that of the digest"
        if event.expires_at <= event.created_at:
            return "it expires before it is made"
        if before is not None:
            if not before.may_be_asked_again(event.created_at):
                return "the same request stands already"
            del self.entries[event.key]
        self.entries[event.key] = Entry(event)
        return None


def _confirm(entry: Entry, event: ApprovalConfirmed) -> str | None:
    if wrong := _not_open(entry, event.at):
        return wrong
    if entry.asked.confirmations == 1:
        return "a first confirmation where one is enough"
    if (event.token_sha256 is None) != (event.token_expires_at is None):
        return "a token needs an end"
    entry.confirmed = event if event.token_sha256 else None
    return None


def _decide(entry: Entry, event: ApprovalDecided) -> str | None:
    if event.status == "consumed":
        if entry.is_used or entry.decided is None or entry.decided.status != "approved":
            return "used without an approval"
        entry.is_used = True
        return None
    if event.status == "expired":
        if entry.decided is not None or event.at < entry.asked.expires_at:
            return "expired before its time or after a decision"
    elif wrong := _not_open(entry, event.at):
        return wrong
    elif event.by is None:
        return "a decision by nobody"
    elif event.status == "approved" and entry.asked.confirmations > 1:
        first = entry.confirmed
        if first is None or not event.at < (first.token_expires_at or ""):
            return "approved without a first confirmation in time"
    entry.decided, entry.confirmed = event, None
    return None


def _not_open(entry: Entry, at: str) -> str | None:
    if entry.decided is not None:
        return "the request is decided already"
    if not entry.asked.created_at <= at < entry.asked.expires_at:
        return "not within the request's time"
    return None
