"""Tipstaff carries out what Open Policy Agent decides.

The names below load on first use, so ``import tipstaff`` stays cheap.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tipstaff.documents.verdict import Verdict
    from tipstaff.engine import Engine
    from tipstaff.errors import Error

__version__ = "0.1.0"
__all__ = ["Engine", "Error", "Verdict", "__version__"]

_HOMES = {
    "Engine": "tipstaff.engine",
    "Error": "tipstaff.errors",
    "Verdict": "tipstaff.documents.verdict",
}


def __getattr__(name: str) -> Any:
    """Import a public name from its module when it is first asked for."""
    if name not in _HOMES:
        raise AttributeError(f"module 'tipstaff' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOMES[name]), name)
