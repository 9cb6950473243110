"""Profiles: the limits and the visible host paths of a run, read from ``sandbox/profiles/``."""

from __future__ import annotations

from pathlib import Path

from tipstaff import declared
from tipstaff.documents import strict_yaml
from tipstaff.documents.base import parse
from tipstaff.documents.config import Limits
from tipstaff.documents.sandbox import SandboxProfile
from tipstaff.errors import ContractError
from tipstaff.sandbox.backend import PROTECTIONS


def load(name: str, *, folder: Path | None = None) -> SandboxProfile:
    """The profile ``strict`` or ``dev``; raises ``ContractError`` naming the file and field."""
    folder = folder or declared.folder("sandbox") / "profiles"
    file = folder / f"{name}.yaml"
    known = sorted(path.stem for path in folder.glob("*.yaml"))
    if name not in known:
        raise ContractError(
            "sandbox.profile_unknown",
            f"there is no profile {name!r}",
            field="sandbox.profile",
            fix=f"use one of {', '.join(known)}",
        )
    profile = parse(SandboxProfile, strict_yaml.load(file), file=str(file))
    _check(profile, name, str(file))
    return profile


def limited(
    profile: SandboxProfile, *, team: Limits | None = None, local: Limits | None = None
) -> SandboxProfile:
    """The profile with the team's limits in place of its own, and lowered to the local ones."""
    limits = profile.limits.model_dump()
    if team is not None:
        limits |= team.model_dump(exclude_none=True)
    if local is not None:
        for key, value in local.model_dump(exclude_none=True).items():
            limits[key] = min(limits[key], value)
    return parse(SandboxProfile, profile.model_dump() | {"limits": limits})


def _check(profile: SandboxProfile, name: str, file: str) -> None:
    unknown = set(profile.required_protections) - set(PROTECTIONS)
    relative = [path for path in profile.system_paths if not Path(path).is_absolute()]
    if profile.name != name:
        complaint, field = f"says it is {profile.name!r}", "name"
    elif unknown:
        complaint, field = f"unknown: {', '.join(sorted(unknown))}", "required_protections"
    elif profile.isolated and not profile.required_protections:
        complaint, field = "an isolated profile requires protections", "required_protections"
    elif relative:
        complaint, field = f"not absolute: {', '.join(relative)}", "system_paths"
    else:
        return
    raise ContractError(
        "document.invalid", complaint, file=file, field=field, fix="correct the named field"
    )
