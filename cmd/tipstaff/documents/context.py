"""Who asks and what the engine adds to a question: identity, clock, switches, configuration, revisions, approval."""

from __future__ import annotations

from pydantic import Field

from tipstaff.documents.base import ActorType, ApprovalKey, Contract, Identifier, Sha256, Timestamp
from tipstaff.documents.config import LocalConfig, TeamConfig


class Subject(Contract):
    """For whom the change or action is made."""

    id: Identifier


class Actor(Contract):
    """Who is at the keyboard: ``user@host``, and what kind of principal it is."""

    id: Identifier
    type: ActorType | None = None


class PauseFacts(Contract):
    """State of the pause switches. None in ``global`` or ``user`` means it could not be read.

    ``switches`` holds the environment variables that pause, with their raw values.
    """

    global_: bool | None = Field(None, alias="global")
    user: bool | None = None
    hard: bool = False
    switches: dict[str, str] = Field(default_factory=dict)


class ConfigFacts(Contract):
    """Both configuration files as they are, with the SHA-256 of their bytes.

    ``local_tracked``: whether git tracks the local file.
    """

    team: TeamConfig | None = None
    team_sha256: Sha256 | None = None
    local: LocalConfig | None = None
    local_sha256: Sha256 | None = None
    local_tracked: bool = False


class Bundles(Contract):
    """The revision of each bundle that must answer; None where there is no such bundle."""

    tipstaff: str
    org: str | None = None


class ApprovalFacts(Contract):
    """A person's decision on an earlier request, as the ledger holds it.

    ``digest`` is what was approved; ``confirmations`` counts the steps completed, this one included.
    """

    key: ApprovalKey
    digest: Sha256
    status: str
    requested_by: Actor
    decided_by: Actor
    decided_at: Timestamp
    expires_at: Timestamp
    confirmations: int = Field(ge=0)


class Context(Contract):
    """What the engine adds: identity, clock, switches, configuration, expected revisions, approval.

    ``latest`` is the latest time that the project has decided at, if it has; ``has_overlay`` is whether a signed bundle
    lies where the team's overlay belongs, trusted or not; ``judged_sha256`` is the digest of everything that an
    approval binds to.
    """

    decision_id: Identifier
    now: Timestamp
    latest: Timestamp | None = None
    actor: Actor
    pause: PauseFacts
    config: ConfigFacts
    bundles: Bundles
    has_overlay: bool | None = None
    judged_sha256: Sha256
    approval: ApprovalFacts | None = None
