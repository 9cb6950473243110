"""Every backend of this machine, found as the product finds it; one that has to be here and is not fails."""

from __future__ import annotations

import pytest

from support.sandboxes import BACKENDS, present
from tipstaff.sandbox.backend import SandboxBackend


@pytest.fixture(scope="session", params=BACKENDS)
def backend(request: pytest.FixtureRequest) -> SandboxBackend:
    """One backend that works under strict here."""
    return present(request.param)
