"""What ``tipstaff contracts check --json`` prints: how each server stands to its committed snapshot."""

from __future__ import annotations

from typing import Literal

from tipstaff.documents.base import Contract, Effect, Identifier, Json, Sha256
from tipstaff.documents.contract_diff import ContractDiff
from tipstaff.documents.observation import ObservationReport

CanaryStatus = Literal[
    "same", "changed", "unstable", "redefined", "refused", "forbidden", "not_run"
]


class CheckedCanary(Contract):
    """What came of one recorded call.

    ``redefined``: its tool is another one now, so it was not called. ``forbidden``: policy does not let it be called.
    ``refused`` and ``not_run``: there is no answer to compare. ``new_fingerprint`` is null without one settled answer.
    """

    id: Identifier
    tool: str | None
    status: CanaryStatus
    old_fingerprint: str
    new_fingerprint: Sha256 | None


class CheckedServer(Contract):
    """One server. ``status`` is policy's word: ``unchanged``, ``drift``, ``unstable``, ``unbaselined``, ``unreadable``,
    ``foreign``, ``unconfigured``, ``incomplete``, ``unsteady`` or ``indeterminate``.

    ``diff`` is null where nothing could be compared, and ``error`` then says why. ``report`` is what the server did and
    tried while it was observed, null where it was not.
    """

    name: str
    status: str
    old_digest: Sha256 | None
    new_digest: Sha256 | None
    diff: ContractDiff | None
    canaries: list[CheckedCanary]
    effect: Effect
    codes: list[Identifier]
    decision_id: Identifier
    error: Json | None
    report: ObservationReport | None


class ContractCheck(Contract):
    """All servers that were checked, by name."""

    servers: list[CheckedServer]
