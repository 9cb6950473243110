"""Where the declared folders (``policy``, ``contracts``, ``sandbox``) lie.

In a wheel they stand beside this module under ``declared/``; in a checkout at the repository's root.
"""

from __future__ import annotations

from pathlib import Path

_INSTALLED = Path(__file__).parent / "declared"
_CHECKOUT = Path(__file__).parents[2]


def is_checkout() -> bool:
    """Whether this code runs from a checkout (or an editable install of one)."""
    return not _INSTALLED.is_dir()


def folder(name: str) -> Path:
    """The absolute path of one declared folder."""
    return (_CHECKOUT if is_checkout() else _INSTALLED) / name
