"""Figures of promises: a small one at each commit, the whole one by ``make nightly``."""

from __future__ import annotations

import random
from typing import Any

import pytest

SEED = 20260301


def figure(name: str, *, commit: Any, full: Any) -> pytest.MarkDecorator:
    """The same test with a small figure, and with the full one under the marker ``nightly``."""
    return pytest.mark.parametrize(
        name,
        [
            pytest.param(commit, id="commit"),
            pytest.param(full, id="full", marks=pytest.mark.nightly),
        ],
    )


def dice(seed: int = SEED) -> random.Random:
    """The chance of a test; its seed is printed, so that a failure can be repeated."""
    print(f"seed {seed}")
    return random.Random(seed)
