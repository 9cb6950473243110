"""What every store of approval requests does, be it a file of events or a database.

```python
store = open_store("approvals.jsonl")          # or postgresql://user@host/database, for many machines
key = key_of(digest, prefix)                   # the digest alone, or "prefix:" and the digest
store.get(key)                                 # ApprovalRequest as it stands now, None where there is none
store.request(NewRequest(..., key=key))        # asks once: the pending, approved or rejected one where there is one
```

Times come from the verdict's obligation, never from here. Whether an approval that is found still counts, and who may
decide, is for policy to say.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from tipstaff.documents.approval import ApprovalRequest
from tipstaff.documents.context import Actor
from tipstaff.ledger.new_request import NewRequest

__all__ = ["ApprovalStore", "NewRequest", "key_of", "open_store", "read_store", "shown_place"]


class ApprovalStore(Protocol):
    """Requests by key. Methods raise ``EvidenceError`` (``store.*``, exit 3), so that a damaged store decides nothing.

    A decision raises ``ContractError`` (exit 2), with nothing written: ``approval.unknown``, ``approval.decided``,
    ``approval.expired``, ``approval.token``, ``approval.single``, ``approval.consumed``, ``approval.undecided``.
    """

    def request(self, new: NewRequest) -> ApprovalRequest:
        """Ask; where that content's request is pending, approved and in time, or rejected: that one, unchanged."""

    def get(self, key: str) -> ApprovalRequest | None:
        """The request with exactly this key as it stands now."""

    def list(self, status: str | None = None) -> builtins.list[ApprovalRequest]:
        """The requests, oldest first; with ``status`` only those that stand so now."""

    def counts(self) -> dict[str, int]:
        """How many requests stand in each status now."""

    def confirm_first(self, key: str, actor: Actor) -> str:
        """The first of two confirmations: decides nothing, gives the one-time token for the second."""

    def approve(
        self, key: str, actor: Actor, *, token: str | None = None, note: str | None = None
    ) -> ApprovalRequest:
        """Approve, where two confirmations are needed with the first one's token and in time."""

    def reject(self, key: str, actor: Actor, note: str | None = None) -> ApprovalRequest:
        """Reject, always in one step."""

    def consume(self, key: str) -> ApprovalRequest:
        """Mark an approval as used, once."""

    def sweep(
        self, announce: Callable[[ApprovalRequest], object] | None = None
    ) -> builtins.list[ApprovalRequest]:
        """Keep that requests have run out of time; each of them is returned and announced exactly once."""


def key_of(digest: str, prefix: str = "") -> str:
    """The key of the request that asks about the content of this digest."""
    return f"{prefix}:{digest}" if prefix else digest


def open_store(place: str | Path) -> ApprovalStore:
    """The store at a path, which need not exist, or in a database of PostgreSQL by its URL.

    A database is made ready where it is empty. Raises ``ContractError`` (``store.url``), or as a store's methods do.
    """
    if "://" in str(place):
        from tipstaff.ledger.approvals import Approvals
        from tipstaff.ledger.server import open_server

        return Approvals(open_server(str(place)))
    from tipstaff.ledger.approval_file import ApprovalFile

    return ApprovalFile(Path(place))


def read_store(place: str | Path) -> builtins.list[ApprovalRequest]:
    """The requests of a store, oldest first; none where it is not there, and nothing is made.

    Raises as ``open_store`` does.
    """
    if "://" in str(place):
        from tipstaff.ledger.approvals import Approvals
        from tipstaff.ledger.server import open_to_read

        database = open_to_read(str(place))
        return [] if database is None else Approvals(database).list()
    return open_store(place).list()


def shown_place(place: str) -> str:
    """The place of a store without the passwords that its URL may hold."""
    if "://" not in place:
        return place
    from sqlalchemy import make_url

    url = make_url(place)
    secrets = [name for name in url.query if "password" in name]
    return url.difference_update_query(secrets).render_as_string(hide_password=True)
