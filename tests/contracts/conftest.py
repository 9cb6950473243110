"""What these tests take from others as it was published."""

from __future__ import annotations

import pytest

from support.published import IS_CI, install_all


@pytest.fixture(scope="session")
def published() -> None:
    """Everything that is locked, installed; where that cannot be, the reason is told, and in CI that is a failure."""
    faults = install_all(print)
    if faults:
        reason = "; ".join(f"{name}: {fault}" for name, fault in faults.items())
        if IS_CI:
            pytest.fail(reason)
        pytest.skip(reason)
