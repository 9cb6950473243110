"""The capabilities that a dotted origin of a Python name stands for."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from tipstaff.evidence import capability_tables as tables
from tipstaff.evidence.python_origins import UNTOLD


@lru_cache(maxsize=4096)
def lookup(origin: str) -> frozenset[str]:
    """The capabilities that an origin, such as ``os.system``, stands for."""
    found: set[str] = set()
    for name in _spellings(origin):
        found |= tables.FUNCTIONS.get(name, frozenset())
        parts = name.split(".")
        for count in range(1, len(parts) + 1):
            found |= tables.MODULES.get(".".join(parts[:count]), frozenset())
        for start, capabilities in _STARTS:
            found |= capabilities if name.startswith(start) else frozenset()
        if parts[-1] == "*":
            found |= tables.ESCAPES.get(".".join(parts[:-1]), frozenset())
        found |= tables.METHODS.get(parts[-1], frozenset()) if len(parts) > 1 else frozenset()
        if parts[0] == UNTOLD and len(parts) > 1:
            found |= _ENDINGS.get(parts[1], frozenset())
    return frozenset(found)


_STARTS = [(name[:-1], found) for name, found in tables.FUNCTIONS.items() if name.endswith("*")]
_ENDINGS: dict[str, frozenset[str]] = {"*": tables.ALL - {tables.UNREADABLE}}
for _known, _found in tables.FUNCTIONS.items():
    _last = _known.rsplit(".", 1)[-1]
    _ENDINGS[_last] = _ENDINGS.get(_last, frozenset()) | _found


def _spellings(origin: str) -> Iterator[str]:
    """The origin itself, and each module inside it that another module merely carries (``shutil.os.system``)."""
    parts = origin.replace("()", "").split(".")
    for index, part in enumerate(parts):
        if index == 0 or part in tables.CARRIED:
            yield ".".join([tables.SAME_MODULE.get(part, part), *parts[index + 1 :]])


def module_escape(origin: str) -> frozenset[str]:
    """What a module, or its dictionary, counts as when it is handed on as a value; nothing for other origins."""
    name = origin.removesuffix(".__dict__")
    return tables.ESCAPES.get(tables.SAME_MODULE.get(name, name), frozenset())
