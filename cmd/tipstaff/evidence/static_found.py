"""What a reader of source finds, and what an origin of a name amounts to."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field

from tipstaff.evidence import static_tables as tables
from tipstaff.evidence.capability_lookup import lookup
from tipstaff.evidence.capability_tables import DYNAMIC
from tipstaff.evidence.python_origins import UNTOLD
from tipstaff.evidence.static_modules import is_standard_module, perhaps_carried
from tipstaff.evidence.static_names import public


@dataclass
class Found:
    """What was found so far; ``unresolved`` by line.

    ``own`` are the names by which the text would import itself; ``binds`` tells whether it makes names of a module.
    """

    imports: set[str] = field(default_factory=set)
    calls: set[str] = field(default_factory=set)
    unresolved: set[tuple[int, str]] = field(default_factory=set)
    own: frozenset[str] = frozenset()
    binds: bool = False

    def untold(self, node: ast.AST | None, why: str) -> None:
        """Note a use of what is only made at run time."""
        self.unresolved.add((getattr(node, "lineno", 1), why))

    def module(self, node: ast.AST, name: str) -> None:
        """Note that a module is reached, under the name that people know too."""
        root, dot, rest = name.partition(".")
        self.imports |= {name, f"{public(root)}{dot}{rest}" if root else name}
        if root in tables.REACHES or name in tables.REACHES:
            self.untold(node, f"the module {name} runs, or finds, what the text does not name")
        if name in self.own:
            self.untold(node, f"the module {name} is the text itself")

    def origin(self, node: ast.AST, origin: str) -> None:
        """Note that an expression may stand for an origin that is no module."""
        if origin.split(".")[0] == UNTOLD:
            if origin != UNTOLD:
                self.untold(node, "an attribute of a module that cannot be told")
            return
        name = origin.replace("()", "").removeprefix("builtins.")
        if name.endswith(".*"):
            self.untold(node, f"an attribute of {name.removesuffix('.*')} named at run time")
            return
        if name not in tables.CONSTANTS:
            self.calls.add(name)
        if _reaches(origin) or _is_private(origin):
            self.untold(node, f"{name} reaches what the text does not name")
        for held in perhaps_carried(origin):
            self.origin(node, held)

    def inside(self, node: ast.AST, inner: Found) -> None:
        """Take over what was found in code that stands in a text."""
        self.imports |= inner.imports
        self.calls |= inner.calls
        for _, why in inner.unresolved:
            self.untold(node, why)
        if inner.binds:
            self.untold(node, "names made by code in a text")


def is_foreign(origin: str) -> bool:
    """Whether an origin is a builtin, or what one gives, such as ``type()``."""
    return origin.startswith("builtins.")


def is_error(origin: str) -> bool:
    """Whether an origin is a builtin exception, or what gives one."""
    kind = origin.split("()")[0]
    return kind in tables.ERROR_SOURCES or (
        is_foreign(kind) and kind.endswith(tables.ERROR_ENDINGS)
    )


def _reaches(origin: str) -> bool:
    if "()" in origin or origin in tables.TOLD_BY_TEXT:
        # What a call gives is told where the call is.
        return origin in tables.REACHES
    parts = origin.split(".")
    if any(".".join(parts[:count]) in tables.REACHES for count in range(1, len(parts) + 1)):
        return True
    told = origin in tables.HARMLESS or parts[-1] == "__getattribute__"
    return len(parts) > 1 and not told and DYNAMIC in lookup(origin)


def _is_private(origin: str) -> bool:
    """Whether it is a function of the standard library that is nobody's to call."""
    parts = [] if "()" in origin else origin.split(".")
    for index in range(1, len(parts)):
        name = parts[index]
        if name.startswith("_") and not name.startswith("__") and not name[1:2].isupper():
            return is_standard_module(".".join(parts[:index]))
    return False
