"""Names as a gate follows them: to the end, also through star imports, relative imports and modules inside modules."""

from __future__ import annotations

import ast
import builtins
import sys
from collections.abc import Iterable
from functools import lru_cache

from tipstaff.evidence.capability_tables import SAME_MODULE
from tipstaff.evidence.python_names import Names
from tipstaff.evidence.python_origins import UNTOLD
from tipstaff.evidence.static_modules import carried, is_standard_module

_BUDGET = 400_000
_MAX_PARTS = 12

Origins = frozenset[str]


class Tangled(Exception):
    """Following the names of this text would take too long."""


class StaticNames(Names):
    """The names of one module whose local names have spellings of their own (``python_scopes``).

    A value that was called for keeps one attribute only (``pathlib.Path().parent``), so that origins cannot grow.
    ``modules`` are the origins that are certain to be modules.
    """

    rounds = 12
    max_origins = 256

    def __init__(
        self, tree: ast.Module, nodes: list[ast.AST], outer: StaticNames | None = None
    ) -> None:
        self.modules: set[str] = set() if outer is None else set(outer.modules)
        self._stars: list[str] = []
        self._spent = 0
        self._outer = outer
        super().__init__(tree, nodes)

    def kept(self, origins: Iterable[str]) -> Origins:
        """Canonical origins; those of values are the first to go where there are too many."""
        found = {canonical(origin) for origin in origins}
        self._spent += 1 + len(found)
        if self._spent > _BUDGET:
            raise Tangled
        if len(found) > self.max_origins:
            found = {origin for origin in found if "()" not in origin}
        return frozenset(found if len(found) <= self.max_origins else {UNTOLD})

    def of_name(self, name: str, line: int) -> Origins:
        """As for any module; a name that nothing binds comes from the star imports, or from the text around."""
        found = super().of_name(name, line)
        if "@" in name:
            return found
        if self._outer is not None:
            found |= self._outer.anywhere(name)
        if self._stars and name not in self.defined:
            bound = any(origin.rpartition(".")[0] not in self._stars for origin in found)
            if not bound or hasattr(builtins, name):
                found |= {f"{module}.{name}" for module in self._stars}
        return found

    def resolve(self, node: ast.AST | None) -> Origins:
        """As for any module; an item of a value is taken for the value."""
        found = super().resolve(node)
        if isinstance(node, ast.Subscript) and not found:
            found = frozenset(o for o in super().resolve(node.value) if "()" in o)
            self._resolved[id(node)] = found
        return found

    def of_attribute(self, name: str) -> Origins:
        """As for any module; the class of whatever it is taken from is what ``type()`` gives."""
        found = super().of_attribute(name)
        return found | {"builtins.type()"} if name == "__class__" else found

    def anywhere(self, name: str) -> Origins:
        """What a name stands for in any scope of this text, as code in a text inside it may see it."""
        found = self.of_name(name, 1 << 30)
        return found.union(
            *(origins for known, origins in self._known.items() if known.split("@")[0] == name)
        )

    def is_module(self, origin: str) -> bool:
        """Whether an origin is certain to be a module, or its dictionary."""
        name = origin.removesuffix(".__dict__")
        return name in self.modules or is_standard_module(name)

    def _import(self, node: ast.Import | ast.ImportFrom) -> None:
        super()._import(node)
        if isinstance(node, ast.Import):
            for alias in node.names:
                self.modules |= {alias.name, alias.name.split(".")[0]}
            return
        holder = f"{'.' * node.level}{node.module or ''}"
        for alias in node.names:
            if alias.name == "*":
                self._stars.append(holder)
            elif node.level:
                self._known[alias.asname or alias.name].add(joined(holder, alias.name))


def joined(module: str, name: str) -> str:
    """The dotted name of what is below a module; a module of dots alone is the package itself."""
    return f"{module}{name}" if module.endswith(".") else f"{module}.{name}"


def public(module: str) -> str:
    """The top-level module that people name, for the one that implements it (``pickle`` for ``_pickle``)."""
    name = SAME_MODULE.get(module, module)
    return name[1:] if name.startswith("_") and name[1:] in sys.stdlib_module_names else name


@lru_cache(maxsize=8192)
def canonical(origin: str) -> str:
    """An origin by the shortest way to it: ``logging.os.system`` is ``os.system``."""
    below = origin.lstrip(".")
    parts = below.split(".")
    parts[0] = public(parts[0]) if below == origin else f"{origin[: -len(below)]}{parts[0]}"
    for index in range(len(parts) - 1, 0, -1):
        module = carried(".".join(parts[:index]), parts[index])
        if module is not None:
            parts = [module, *parts[index + 1 :]]
            break
    first = next((index for index, part in enumerate(parts) if part.endswith("()")), len(parts))
    if len(parts) > first + 2:
        parts = [*parts[: first + 1], parts[-1]]
    if len(parts) == first + 2:
        parts[-1] = parts[-1].removesuffix("()")
    if parts[0] == UNTOLD or len(parts) > _MAX_PARTS:
        parts = [*parts[: 1 if parts[0] == UNTOLD else _MAX_PARTS - 1], parts[-1]]
    while parts[-1].endswith("()()"):
        parts[-1] = parts[-1].removesuffix("()")
    return ".".join(parts)
