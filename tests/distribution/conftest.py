"""What tests of the release share: one source distribution, one wheel, one installation of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.installation import Installation, build, install
from support.readme import ROOT


@pytest.fixture(scope="session")
def sdist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The source distribution, built from the checkout."""
    return build(ROOT, "sdist", tmp_path_factory.mktemp("sdist"))


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built from the checkout."""
    return build(ROOT, "wheel", tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="session")
def installation(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Installation:
    """The wheel in a virtual environment of its own."""
    return install(wheel, tmp_path_factory.mktemp("installation") / "venv")
