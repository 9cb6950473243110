"""A working backend, found as the product finds it; without one these tests fail, they are not skipped."""

from __future__ import annotations

import pytest

from support.sandboxes import strict
from tipstaff.sandbox.backend import SandboxBackend
from tipstaff.sandbox.selection import strongest


@pytest.fixture(scope="session")
def backend() -> SandboxBackend:
    """The backend that strict runs under here."""
    return strongest(strict())
