"""What servers of tests said before: one that is in the same state, asked the same, is started once in each process.

Tests of what is made of an observation take it from here; how servers are observed is tried without it.
"""

from __future__ import annotations

import copy
import os
from collections.abc import Sequence
from dataclasses import astuple
from pathlib import Path

import pytest

from tipstaff.drift.observing import observe as observing
from tipstaff.drift.observing.inside import Isolating
from tipstaff.drift.observing.target import Call, Observation, Target

_KNOWN: dict[str, Observation] = {}
_observe = observing.observe


def remember(patch: pytest.MonkeyPatch) -> None:
    """Observe no server of a command twice in one state: by its variables, and by the files of ``server/``."""
    patch.setattr(observing, "observe", _remembered)


def forget() -> None:
    """Observe each server anew."""
    _KNOWN.clear()


def _remembered(
    target: Target, isolation: Isolating, *, root: Path, calls: Sequence[Call] = ()
) -> Observation:
    if target.url is not None:
        return _observe(target, isolation, root=root, calls=calls)
    variables = {name: os.environ.get(name) for name in target.environment}
    files = [(path.name, path.read_bytes()) for path in sorted((root / "server").glob("*.*"))]
    state = repr((target, variables, files, [astuple(call) for call in calls]))
    if state not in _KNOWN:
        _KNOWN[state] = _observe(target, isolation, root=root, calls=calls)
    return copy.deepcopy(_KNOWN[state])
