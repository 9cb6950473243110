"""Which dotted names are modules of the standard library, by what lies in its folder; none of them is imported."""

from __future__ import annotations

import os
import sys
from functools import lru_cache
from pathlib import Path

from tipstaff.evidence.capability_tables import SAME_MODULE

_FOLDER = Path(os.__file__).parent
# Modules that lie about as attributes of other modules, or of objects, and that nothing else is named after.
_CARRIED = frozenset({"builtins", "ctypes", "importlib", "os", "posix", "subprocess", "sys"})
# The same, where it is certain that the holder is a module.
_LYING_ABOUT = _CARRIED | frozenset(
    """
    asyncio bdb code codecs codeop gc imp inspect io marshal multiprocessing pdb pickle pty pydoc runpy shelve shutil
    signal smtplib socket ssl tempfile threading timeit types urllib webbrowser zipimport
    """.split()
)
# How the standard library calls some of them.
_KNOWN_AS = {"bltns": "builtins", "mp": "multiprocessing"}


def is_standard(name: str) -> bool:
    """Whether the first part of a dotted name is a top-level module of the standard library."""
    return name.split(".")[0] in sys.stdlib_module_names


@lru_cache(maxsize=4096)
def is_standard_module(name: str) -> bool:
    """Whether a dotted name is a module of the standard library; false where its folder is not there to look into."""
    if "." not in name or name == "os.path":
        return name == "os.path" or name in sys.stdlib_module_names
    parts = name.split(".")
    if not is_standard(name) or not all(part.isidentifier() for part in parts):
        return False
    return any(_FOLDER.joinpath(*parts).with_suffix(end).exists() for end in ("", ".py"))


def may_be_module(name: str) -> bool:
    """Whether a dotted name may be a module: outside the standard library that cannot be told."""
    return is_standard_module(name) if is_standard(name) else True


def perhaps_carried(origin: str) -> set[str]:
    """The dotted names that an origin may stand for too, where what holds a module may be a module itself."""
    parts = origin.split(".")
    found = set()
    for index in range(1, len(parts) - 1):
        holder = ".".join(parts[:index])
        lies = parts[index] in _LYING_ABOUT and parts[index] != parts[index - 1]
        if lies and "()" not in holder and not is_standard_module(f"{holder}.{parts[index]}"):
            found.add(".".join(parts[index:]))
    return found


def carried(holder: str | None, attribute: str) -> str | None:
    """The module that an attribute is, whoever holds it; ``holder`` is None where that cannot be told."""
    name = SAME_MODULE.get(attribute, attribute).removeprefix("_")
    if holder is None or "()" in holder or not is_standard_module(holder):
        return name if name in _CARRIED else None
    name = _KNOWN_AS.get(name, name)
    if name not in _LYING_ABOUT or name == holder:
        return None
    return None if is_standard_module(f"{holder}.{attribute}") else name
