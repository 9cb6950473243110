"""What a sandbox backend takes, gives and promises.

A backend runs one command in a layout that is the same everywhere: the input read-only at ``/work``, tmpfs at
``/scratch`` and ``/tmp``, system paths read-only, nothing else of the host. What held is measured by a probe
inside that layout; what was configured counts for nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Protocol, get_args

from tipstaff.documents.config import Protection
from tipstaff.documents.sandbox import Kernel, SandboxProfile, SandboxResult
from tipstaff.documents.strict_json import digest
from tipstaff.sandbox.tree import content_sha256

SCRATCH = "/scratch"
PROTECTIONS: tuple[str, ...] = get_args(Protection)
_WORK = "/work"
_OTHER_WORK = "/copy"
_SPEC_DOMAIN = "tipstaff.sandbox.spec.v1"
_INPUT_DOMAIN = "tipstaff.sandbox.input.v1"


@dataclass(frozen=True)
class RunSpec:
    """One run: the command, its private input folder, and what else it sees.

    ``outputs`` are files under ``/scratch`` to hand back. ``environment`` adds to the profile's. ``readonly`` are
    host paths visible at the same place. ``identity`` says what the input is, where the caller knows it better than
    by reading it all.
    """

    argv: tuple[str, ...]
    workdir: Path
    profile: SandboxProfile
    outputs: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    readonly: tuple[Path, ...] = ()
    identity: str = ""

    @property
    def work(self) -> str:
        """Where the input folder is seen inside."""
        return workplace(self.readonly)

    @property
    def spec_sha256(self) -> str:
        """The digest of everything that the caller chose for this run, apart from the input."""
        chosen = {
            "argv": list(self.argv),
            "environment": dict(self.environment),
            "outputs": list(self.outputs),
            "profile": self.profile.model_dump(mode="json"),
            "readonly": [str(path) for path in self.readonly],
        }
        return digest(chosen, domain=_SPEC_DOMAIN)

    @property
    def input_sha256(self) -> str:
        """The digest of the input: of its identity, or else of every name, mode and byte in its folder."""
        known = {"identity": self.identity} if self.identity else None
        return digest(known or {"content": content_sha256(self.workdir)}, domain=_INPUT_DOMAIN)


@dataclass(frozen=True)
class Probe:
    """What a backend was seen to do here.

    ``available``: its probe ran and every protection that its profile requires held. Else ``reason`` says what is
    missing and ``fix`` what to do about it. ``unenforced`` names the fields of ``RunLimits`` that the backend cannot
    enforce here, and ``kernel`` whose system calls the probe reached.
    """

    backend: str
    available: bool
    held: tuple[str, ...] = ()
    unenforced: tuple[str, ...] = ()
    kernel: Kernel = "host"
    program: str | None = None
    version: str | None = None
    reason: str | None = None
    fix: str | None = None


class SandboxBackend(Protocol):
    """One way to isolate. ``name`` is the word that documents and policy know it by."""

    name: str

    def probe(self) -> Probe:
        """Try it out, once a process; never raises for a backend that does not work."""
        ...

    def argv(self, spec: RunSpec) -> list[str]:
        """The command that ``run`` starts, without what only exists at run time. Pure."""
        ...

    def run(self, spec: RunSpec) -> tuple[SandboxResult, dict[str, bytes]]:
        """Run to the end or to a limit; also the output files that exist, by the paths asked for.

        Raises ``SandboxError`` if the command never started.
        """
        ...


def workplace(readonly: Iterable[Path]) -> str:
    """Where the input is seen: ``/work``, or ``/copy`` where a host path must be visible under ``/work``.

    So no mount point is ever made inside the input.
    """
    taken = any(path == Path(_WORK) or Path(_WORK) in path.parents for path in readonly)
    return _OTHER_WORK if taken else _WORK
