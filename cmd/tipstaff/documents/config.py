"""``tipstaff.yaml`` (the team's ceiling, committed) and ``tipstaff.local.yaml`` (one person's, git-ignored).

Both go into the input as they are; Rego clamps the local one and fills what is absent.
"""

from __future__ import annotations

from typing import Annotated, Literal, get_args

from pydantic import AfterValidator, Field
from pydantic_core import PydanticCustomError

from tipstaff.documents.base import (
    ActionClass,
    CapabilityName,
    Contract,
    SchemaVersion,
    Tier,
)
from tipstaff.documents.harness_settings import SpecGate, SpecRules
from tipstaff.documents.server import Server, ServerName

# The strongest first.
Backend = Literal["firecracker", "gvisor", "bubblewrap", "nsjail"]
Profile = Literal["strict", "dev"]
Protection = Literal[
    "network",
    "write",
    "home",
    "environment",
    "processes",
    "descriptors",
    "privileges",
    "terminal",
    "system_calls",
]


def _strongest_first(names: list[Backend]) -> list[Backend]:
    kept = [name for name in get_args(Backend) if name in names]
    if kept != names:
        raise PydanticCustomError(
            "sandbox.reorder",
            "backends are tried strongest first, and each once",
            {"fix": f"leave some out if you want, and write the others as {', '.join(kept)}"},
        )
    return names


Backends = Annotated[list[Backend], AfterValidator(_strongest_first)]


class ApprovalGates(Contract):
    """Classes pinned to a person, and capabilities nobody gets."""

    require_human: list[ActionClass] | None = None
    forbid: list[CapabilityName] | None = None


class Paths(Contract):
    """Globs over repository paths: what proposals may touch, and what they may not."""

    allowed: list[str] | None = None
    read_only: list[str] | None = None


class Limits(Contract):
    """Ceilings for one sandboxed run: CPU seconds, MiB, wall seconds, processes."""

    cpu_s: int | None = Field(None, ge=1, le=100_000)
    memory_mb: int | None = Field(None, ge=1, le=1 << 20)
    wall_s: int | None = Field(None, ge=1, le=100_000)
    processes: int | None = Field(None, ge=1, le=1 << 15)


class Isolation(Contract):
    """What a run must have had to count for a class: the weakest backend, and protections that a probe saw hold."""

    minimum_backend: Backend | None = None
    held: list[Protection] | None = None


class SandboxSettings(Contract):
    """How generated code runs, and what a run must have had to count as evidence.

    ``backends`` leaves out those that it does not name; ``require`` asks for more, by class of change.
    """

    profile: Profile | None = None
    backends: Backends | None = None
    minimum_backend: Backend | None = None
    require: dict[ActionClass, Isolation] | None = None
    limits: Limits | None = None


class ApprovalSettings(Contract):
    """Whether the asker may approve: ``four_eyes`` demands another person."""

    four_eyes: bool | None = None


class PauseSettings(Contract):
    """``hard``: a pause also stops what a person has already approved."""

    hard: bool | None = None


class TestSettings(Contract):
    """The one command whose results count, and repository paths that judge a change.

    A change's own version of those paths is never run.
    """

    command: str | None = None
    paths: list[str] | None = None


class OverlaySettings(Contract):
    """The team's own bundle: its folder, and the PEM public key that its signature must match.

    ``threshold`` different keys must have signed it: that one, and others of ``public_keys`` (PEM).
    """

    overlay: str | None = None
    public_key: str | None = None
    public_keys: list[str] | None = None
    threshold: int | None = Field(None, ge=1)


class ContractSettings(Contract):
    """The MCP servers whose contracts are pinned, by the name of the snapshot's file.

    ``dependents`` are the folders in which names of tools and parameters are looked for; without it, all that git holds
    but contracts, vendored and generated files.
    """

    servers: dict[ServerName, Server] = Field(default_factory=dict)
    dependents: list[str] | None = None


class HarnessSettings(SpecGate, SpecRules):
    """What governed modifications are held to: numbers and lists only tighten what the bundle says.

    ``granted_capabilities`` are what a specification may grant. ``allowed_suffixes`` are ends of targets whose language
    nobody reads, ``require_attestation`` asks that somebody stands for all scores.
    """

    allowed_suffixes: list[str] | None = None
    require_attestation: bool | None = None


class Settings(Contract):
    """What either file may set."""

    schema_version: SchemaVersion
    autonomy: dict[ActionClass, Tier] | None = None
    approval_gates: ApprovalGates | None = None
    paths: Paths | None = None
    sandbox: SandboxSettings | None = None
    approvals: ApprovalSettings | None = None
    pause: PauseSettings | None = None


class LocalConfig(Settings):
    """What one person may set; every key can only tighten the team's."""

    remembered_choices: dict[ActionClass, Tier] | None = None


class TeamConfig(Settings):
    """The committed ceiling. A class that is not named is ``propose``."""

    tests: TestSettings | None = None
    policy: OverlaySettings | None = None
    contracts: ContractSettings | None = None
    harness: HarnessSettings | None = None
