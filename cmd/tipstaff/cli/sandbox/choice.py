"""Which profile and backend the verbs of `tipstaff sandbox` run under."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, get_args

import click

from tipstaff.documents.config import Backend, Profile
from tipstaff.errors import ContractError, SandboxError

if TYPE_CHECKING:
    from tipstaff.evidence.isolation import Isolation
    from tipstaff.sandbox.backend import SandboxBackend

F = TypeVar("F", bound=Callable[..., Any])
BACKENDS = list(get_args(Backend))
PROFILES = list(get_args(Profile))


def backend_option(otherwise: str) -> Callable[[F], F]:
    """The ``--backend`` option, and what happens without it; a word that is no backend is refused by click."""
    return click.option(
        "--backend",
        type=click.Choice(BACKENDS),
        help=f"Only this backend; {otherwise}, if not given.",
    )


def strict_backends(name: str | None) -> list[SandboxBackend]:
    """The backends that work under strict, strongest first; raises ``SandboxError`` if there is none, or not that."""
    from tipstaff.sandbox.profile import load
    from tipstaff.sandbox.selection import kinds, named, survey

    profile = load("strict")
    if name is not None:
        return [named(name, profile)]
    working = {probe.backend for probe in survey(profile) if probe.available}
    found = [named(kind.name, profile) for kind in kinds() if kind.name in working]
    return found or [named(BACKENDS[-1], profile)]


def isolation(profile: str | None, backend: str | None) -> Isolation:
    """What the project's files say, narrowed by the command line.

    Raises ``ContractError`` for a profile that the team has not chosen, or a backend that its files leave out.
    """
    from tipstaff.evidence.isolation import Isolation, configured
    from tipstaff.project import Project
    from tipstaff.sandbox.profile import limited, load

    found = configured(Project.find(Path()))
    settled, backends = found.profile, found.backends
    if profile is not None and profile != settled.name:
        if not load(profile).isolated:
            raise ContractError(
                "sandbox.profile_not_chosen",
                f"the team's file has not chosen the profile {profile!r}",
                field="--profile",
                fix="set sandbox.profile in tipstaff.yaml, or leave --profile out",
            )
        settled = load(profile).model_copy(update={"limits": limited(settled).limits})
    if backend is not None:
        if backends is not None and backend not in backends:
            raise ContractError(
                "sandbox.backend_left_out",
                f"the project's files leave {backend} out",
                field="--backend",
                fix="add it to sandbox.backends, or leave --backend out",
            )
        backends = (backend,)
    return Isolation(settled, backends)


def isolating(found: Isolation) -> SandboxBackend:
    """The strongest backend for it; raises ``SandboxError`` where a backend was named and only none is left."""
    backend = found.strongest()
    if found.backends is not None and backend.name not in found.backends:
        raise SandboxError(
            "sandbox.unavailable",
            f"none of {', '.join(found.backends)} works here",
            fix="run `tipstaff sandbox doctor`",
        )
    return backend
