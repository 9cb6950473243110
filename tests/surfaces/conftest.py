"""What these tests take from others as it was published."""

from __future__ import annotations

import pytest

from support.published import IS_CI, Published, install_all

SUITE = Published("conformance", "0.1.16")


@pytest.fixture(scope="session")
def suite() -> Published:
    """The conformance suite and the TypeScript SDK; where they can't be installed, that is told, and fails CI."""
    if not SUITE.is_installed:
        reason = install_all(print).get("conformance 0.1.16")
        if reason and IS_CI:
            pytest.fail(reason)
        if reason:
            pytest.skip(reason)
    return SUITE
