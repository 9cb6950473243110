"""Whether a newer version of a Python module leaves every definition of the older one as it was.

The older module's statements must all stand, unchanged and in order, in the newer one; what is new beside them may
only bind names that the older module neither binds nor looks up, and may not write to anything it did not make.
That a function of another module rebinds things when it is called is beyond what this reader sees.
"""

from __future__ import annotations

import ast
import builtins
import symtable
import warnings
from collections.abc import Iterator
from dataclasses import dataclass

from tipstaff.evidence import python_source
from tipstaff.evidence.python_additions import Additions, ModuleNames
from tipstaff.evidence.python_source import Unreadable


def rebinds(base: bytes, new: bytes) -> bool | None:
    """True if an existing definition changes, is rebound or written to; None if that cannot be told."""
    try:
        before, after = python_source.decode(base), python_source.decode(new)
        old, young = python_source.parse(before), python_source.parse(after)
        added = _added(old.body, young.body)
        if added is None or ast.get_docstring(old, False) != ast.get_docstring(young, False):
            return True
        if any(_changes_the_whole(node) for node in added):
            return True
        existing = _Bound.read(before, old)
        fresh = _Bound.read(ast.unparse(ast.Module(added, [])), ast.Module(added, []))
    except Unreadable:
        return None
    if any(existing.reserves(name) for name in fresh.names):
        return True
    judged = Additions(existing.module_names(old)).judge(added)
    # A star import may have bound any of the new names.
    return None if judged is False and existing.star and fresh.names else judged


@dataclass(frozen=True)
class _Bound:
    """The names a module binds (``names``), those it looks up without binding them, and whether it imports a star."""

    names: frozenset[str]
    used: frozenset[str]
    star: bool

    @classmethod
    def read(cls, text: str, tree: ast.Module) -> _Bound:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                top = symtable.symtable(text, "module", "exec")
            except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
                raise Unreadable("not Python 3") from error
        names: set[str] = set()
        used: set[str] = set()
        for symbol in _module_symbols(top):
            binds = symbol.is_assigned() or symbol.is_imported() or symbol.is_namespace()
            (names if binds else used).add(symbol.get_name())
        star = any(_is_star(node) for node in ast.walk(tree))
        return cls(frozenset(names), frozenset(used), star)

    def reserves(self, name: str) -> bool:
        """Whether binding this name in the module changes what existing code means."""
        dunder = name.startswith("__") and name.endswith("__")
        return dunder or name in self.names or name in self.used or hasattr(builtins, name)

    def module_names(self, tree: ast.Module) -> ModuleNames:
        """The bound names by what they were bound to: imports, classes, and the rest."""
        imported = {
            alias.asname or alias.name.split(".")[0]
            for node in ast.walk(tree)
            if isinstance(node, ast.Import | ast.ImportFrom)
            for alias in node.names
        }
        classes = {node.name for node in tree.body if isinstance(node, ast.ClassDef)}
        return ModuleNames(self.names - imported, frozenset(classes))


def _module_symbols(table: symtable.SymbolTable) -> Iterator[symtable.Symbol]:
    for symbol in table.get_symbols():
        if table.get_type() == "module" or symbol.is_global():
            yield symbol
    for child in table.get_children():
        yield from _module_symbols(child)


def _added(old: list[ast.stmt], new: list[ast.stmt]) -> list[ast.stmt] | None:
    """The statements of ``new`` that are not those of ``old``; None unless all of ``old`` stand in order."""
    wanted = [ast.dump(node) for node in old]
    added = []
    position = 0
    for node in new:
        if position < len(wanted) and ast.dump(node) == wanted[position]:
            position += 1
        else:
            added.append(node)
    return added if position == len(wanted) else None


def _changes_the_whole(node: ast.stmt) -> bool:
    """Whether an added statement binds names that it does not list, or changes how the module is compiled."""
    future = isinstance(node, ast.ImportFrom) and node.module == "__future__"
    return future or any(_is_star(inner) for inner in ast.walk(node))


def _is_star(node: ast.AST) -> bool:
    return isinstance(node, ast.ImportFrom) and any(alias.name == "*" for alias in node.names)
