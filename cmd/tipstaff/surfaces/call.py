"""What a tool is given of a call."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tipstaff.documents.base import Json
from tipstaff.project import Project
from tipstaff.surfaces.confinement import Confinement
from tipstaff.surfaces.principal import Principal

Work = Callable[[], Json]


@dataclass(frozen=True)
class Call:
    """A call that the caller may make: of which project, by whom, with what, and what it may name."""

    project: Project
    principal: Principal
    arguments: Any
    confinement: Confinement
    say: Callable[[str], None]
