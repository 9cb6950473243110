"""How a project's two files want runs to be isolated; policy sees what came of it, and judges that."""

from __future__ import annotations

from dataclasses import dataclass

from tipstaff.documents.base import parse
from tipstaff.documents.config import SandboxSettings
from tipstaff.documents.sandbox import RunLimits, SandboxProfile
from tipstaff.project import ConfigFile, Project
from tipstaff.sandbox.backend import SandboxBackend
from tipstaff.sandbox.profile import limited, load
from tipstaff.sandbox.selection import strongest


@dataclass(frozen=True)
class Isolation:
    """The profile of a project's runs, and the backends that may do them; None for all."""

    profile: SandboxProfile
    backends: tuple[str, ...] | None = None

    def strongest(self) -> SandboxBackend:
        """The strongest of them that works; raises ``SandboxError`` (``sandbox.unavailable``) if none does."""
        return strongest(self.profile, only=self.backends)


def configured(project: Project, *, limits: RunLimits | None = None) -> Isolation:
    """What both files agree to: the local one may only lower limits, choose strict, and leave backends out.

    ``limits`` take the place of the profile's own; what the files set goes over them.
    """
    team, local = _settings(project.team), _settings(project.local)
    wished = {asked.profile for asked in (team, local)}
    relaxed = team.profile == "dev" and "strict" not in wished
    own = load("dev" if relaxed else "strict")
    if limits is not None:
        own = own.model_copy(update={"limits": limits})
    profile = limited(own, team=team.limits, local=local.limits)
    lists = [asked.backends for asked in (team, local) if asked.backends is not None]
    if not lists:
        return Isolation(profile)
    return Isolation(
        profile, tuple(name for name in lists[0] if all(name in names for names in lists))
    )


def _settings(file: ConfigFile | None) -> SandboxSettings:
    return parse(SandboxSettings, (file.value.get("sandbox") if file else None) or {})
