"""A planted fault meets no result that was remembered before it, and leaves none behind."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest

from support import remembered


@pytest.fixture(autouse=True)
def nothing_remembered() -> Iterator[None]:
    """Empty every cache of a function of ours, before a fault is planted and after it was taken out."""
    forget()
    yield
    forget()


def forget() -> None:
    """Empty the caches that ``functools`` keeps for functions in our modules, and what servers said before."""
    remembered.forget()
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] == "tipstaff":
            for value in list(vars(module).values()):
                clear = getattr(value, "cache_clear", None)
                if callable(clear):
                    clear()
