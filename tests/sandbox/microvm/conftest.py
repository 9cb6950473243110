"""Machines of this computer, and one place for the images that all tests boot from."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.machines import MACHINES, REAL_CACHE, machine
from tipstaff.sandbox.microvm.base import MicrovmBackend


@pytest.fixture(scope="session")
def guest_home(request: pytest.FixtureRequest) -> Path:
    """The kernel, and images made once for all runs of the tests: those of a whole system take a while."""
    kept = REAL_CACHE / "guest"
    kept.mkdir(parents=True, exist_ok=True)
    place: Path = request.getfixturevalue("shared").cache / "tipstaff/guest"
    if not place.is_symlink():
        place.symlink_to(kept)
    return place


@pytest.fixture(scope="session", params=MACHINES)
def backend(request: pytest.FixtureRequest, guest_home: Path) -> MicrovmBackend:
    """One machine that can be tried here."""
    return machine(request.param)
