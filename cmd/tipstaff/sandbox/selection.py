"""Which backend runs: the strongest whose probe held here, never one that is merely installed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import ModuleType

from tipstaff.documents.base import parse
from tipstaff.documents.config import SandboxSettings
from tipstaff.documents.sandbox import SandboxProfile
from tipstaff.errors import SandboxError
from tipstaff.sandbox.backend import Probe, SandboxBackend
from tipstaff.sandbox.bubblewrap import backend as bubblewrap
from tipstaff.sandbox.bubblewrap.backend import BubblewrapBackend
from tipstaff.sandbox.gvisor import backend as gvisor
from tipstaff.sandbox.gvisor.backend import GvisorBackend
from tipstaff.sandbox.microvm import firecracker
from tipstaff.sandbox.microvm.firecracker import Firecracker
from tipstaff.sandbox.nsjail import backend as nsjail
from tipstaff.sandbox.nsjail.backend import NsjailBackend
from tipstaff.sandbox.profile import load
from tipstaff.sandbox.unisolated import UnisolatedBackend


@dataclass(frozen=True)
class Kind:
    """One sort of backend: a module with ``NAME``, ``INSTALL`` and ``programs()``, and what it makes."""

    module: ModuleType
    make: Callable[[Path, SandboxProfile], SandboxBackend]

    @property
    def name(self) -> str:
        """The word that documents and policy know it by."""
        return str(self.module.NAME)

    @property
    def install(self) -> str:
        """How to get a program of it."""
        return str(self.module.INSTALL)

    def programs(self) -> tuple[Path, ...]:
        """Every program to try, best first."""
        return tuple(self.module.programs())


# The strongest first, and never in another order.
KINDS = (
    Kind(firecracker, Firecracker),
    Kind(gvisor, GvisorBackend),
    Kind(bubblewrap, BubblewrapBackend),
    Kind(nsjail, NsjailBackend),
)


def strongest(profile: SandboxProfile, *, only: Sequence[str] | None = None) -> SandboxBackend:
    """The strongest backend that works; raises ``SandboxError`` (``sandbox.unavailable``) if none does.

    ``only`` leaves out every backend that it does not name. Under a profile that is not isolated, ``none`` takes the
    last place.
    """
    probes: list[Probe] = []
    for kind in kinds(only):
        for backend in _of(kind, profile):
            probes.append(backend.probe())
            if probes[-1].available:
                return backend
        if not kind.programs():
            probes.append(_not_installed(kind))
    if not profile.isolated:
        return UnisolatedBackend()
    raise SandboxError(
        "sandbox.unavailable",
        f"nothing can isolate a run under the profile {profile.name}: {_reasons(probes)}",
        fix="; or ".join(dict.fromkeys(probe.fix for probe in probes if probe.fix))
        or "run `tipstaff doctor`",
    )


def survey(
    profile: SandboxProfile | None = None, *, only: Sequence[str] | None = None
) -> list[Probe]:
    """What every backend was seen to do here, strongest first, under ``strict`` unless a profile is given."""
    chosen = profile or load("strict")
    probes: list[Probe] = []
    for kind in kinds(only):
        tried = [backend.probe() for backend in _of(kind, chosen)]
        probes += tried or [_not_installed(kind)]
    return probes


def named(name: str, profile: SandboxProfile) -> SandboxBackend:
    """One backend by its word; raises ``ContractError`` for an unknown one, ``SandboxError`` if it does not work."""
    return strongest(profile, only=(name,))


def kinds(only: Sequence[str] | None = None) -> tuple[Kind, ...]:
    """The kinds of backend that may run, strongest first.

    Raises ``ContractError``: ``sandbox.reorder`` for a list in another order, ``document.invalid`` for a word that is
    no backend.
    """
    if only is None:
        return KINDS
    kept = parse(SandboxSettings, {"backends": list(only)}).backends or []
    return tuple(kind for kind in KINDS if kind.name in kept)


def _of(kind: Kind, profile: SandboxProfile) -> Iterator[SandboxBackend]:
    key = profile.model_dump_json()
    for program in kind.programs():
        yield _made(kind, str(program), key)


@cache
def _made(kind: Kind, program: str, profile: str) -> SandboxBackend:
    # One backend a process for each program and profile, so that each is probed once.
    return kind.make(Path(program), SandboxProfile.model_validate_json(profile))


def _not_installed(kind: Kind) -> Probe:
    return Probe(
        kind.name, available=False, reason=f"{kind.name} is not installed", fix=kind.install
    )


def _reasons(probes: list[Probe]) -> str:
    if not probes:
        return "the configuration leaves no backend"
    return "; ".join(f"{probe.program or probe.backend}: {probe.reason}" for probe in probes)
