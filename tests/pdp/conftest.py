"""The real OPA, and a home of its own for each test."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.policies import build_policy
from tipstaff.pdp import sidecar
from tipstaff.pdp.bundle import Bundle
from tipstaff.pdp.opa import Opa, ensure


@pytest.fixture(scope="session")
def opa() -> Opa:
    """The program that the tests run against; found, or installed once."""
    return ensure(print)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Cache and state folders that no other test shares."""
    folder = tmp_path / "home"
    folder.mkdir()
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
    monkeypatch.setenv("XDG_STATE_HOME", str(folder / "state"))
    return folder


@pytest.fixture
def state(tmp_path: Path) -> Iterator[Path]:
    """A state folder whose sidecars end with the test."""
    folder = tmp_path / "state"
    yield folder
    sidecar.stop(folder)


@pytest.fixture(scope="session")
def policy(opa: Opa, tmp_path_factory: pytest.TempPathFactory) -> Bundle:
    """A small signed bundle with root ``tipstaff``."""
    return build_policy(opa, tmp_path_factory.mktemp("policy"))
