"""Fixtures of what is carried out."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.github_scene import Scene, a_scene


@pytest.fixture
def scene(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Scene]:
    """A clone of acme/widgets on a GitHub that is played here."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with a_scene(tmp_path) as scene:
        yield scene
