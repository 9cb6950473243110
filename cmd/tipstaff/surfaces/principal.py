"""Who calls: known from the channel that a call comes in by, and from nothing that is said in it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from tipstaff.documents.context import Actor
from tipstaff.project import current_actor

Scope = Literal["read", "propose"]


def agent(name: str) -> Actor:
    """Whoever comes in by a surface, as the trail and policy know them: never a person."""
    return Actor(id=name, type="agent")


@dataclass(frozen=True)
class Principal:
    """A caller by its id, and what it may: ``read`` looks and plans, ``propose`` also runs and proposes."""

    id: str
    scope: Scope

    @property
    def actor(self) -> Actor:
        """The caller as the trail and policy know it: never a person."""
        return agent(self.id)


PrincipalOf = Callable[[], Principal]


def of_this_process(scope: Scope) -> Principal:
    """Whoever started this process, as the agent that speaks to it."""
    return Principal(current_actor().id, scope)
