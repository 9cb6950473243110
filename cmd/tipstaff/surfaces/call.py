"""What a tool is given of a call, and how an error is told."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tipstaff.documents.base import Json
from tipstaff.documents.redaction import redact
from tipstaff.documents.text import visible
from tipstaff.engine import Engine
from tipstaff.errors import Error
from tipstaff.surfaces.confinement import Confinement
from tipstaff.surfaces.principal import Principal

Work = Callable[[], Json]


@dataclass(frozen=True)
class Call:
    """A call that the caller may make: the engine that asks in its name, by whom, with what, and what it may name."""

    engine: Engine
    principal: Principal
    arguments: Any
    confinement: Confinement
    say: Callable[[str], None]


def failure(error: Error) -> Json:
    """An error as a result; it may repeat what the caller wrote, and so it is escaped and cut."""
    told = {
        name: text and visible(text, multiline=True)
        for name, text in redact(error.diagnostics()).items()
    }
    return {"ok": False, "error": told, "untrusted": ["error"]}
