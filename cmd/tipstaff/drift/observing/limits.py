"""How much a live server may take, say and try; the numbers stand in ``sandbox/observing/limits.yaml``."""

from __future__ import annotations

import os
from functools import cache

from tipstaff import declared
from tipstaff.documents import strict_yaml
from tipstaff.documents.base import Contract, Json, SchemaVersion, parse
from tipstaff.documents.sandbox import RunLimits

FOLDER = "observing"


class ObservingLimits(Contract):
    """Limits of the run, of one session, of what is kept of a report, and the system calls that are noted."""

    schema_version: SchemaVersion
    run: RunLimits
    session: dict[str, int | float]
    kept: dict[str, int]
    expected_sockets: list[str]
    calls: dict[str, Json]


def as_job(found: ObservingLimits) -> Json:
    """The limits as a driver reads them, with more time on a machine that has more to do than it can."""
    slow = min(max(os.getloadavg()[0] / (os.cpu_count() or 1), 1.0), found.session["busy"])
    session = {
        name: number * slow if name.endswith("_s") else number
        for name, number in found.session.items()
    }
    told = found.model_dump(mode="json", include={"kept", "expected_sockets", "calls"})
    return {**told, "session": session}


@cache
def load() -> ObservingLimits:
    """What the file says."""
    file = declared.folder("sandbox") / FOLDER / "limits.yaml"
    return parse(ObservingLimits, strict_yaml.load(file), file=str(file))
