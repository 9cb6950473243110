"""What the names in a Python module may stand for, followed without running it.

A name resolves to a set of dotted origins such as ``os.system``; all its bindings in the file count, whatever their
order and scope. ``?`` is a module that cannot be told, ``os.*`` an attribute of ``os`` that cannot be told, and
``Path()`` what calling something returns.
"""

from __future__ import annotations

import ast
import builtins
from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import zip_longest

from tipstaff.evidence import capability_tables as tables
from tipstaff.evidence.python_origins import UNTOLD, origins_of

_MAX_LENGTH = 200
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_BINDERS = (
    *(ast.Assign, ast.AnnAssign, ast.NamedExpr, ast.AugAssign, ast.For, ast.AsyncFor),
    *(ast.comprehension, ast.withitem, ast.ClassDef, ast.ExceptHandler, *_FUNCTIONS),
)
_NOTHING: frozenset[str] = frozenset()
_LOST = frozenset({UNTOLD})

Origins = frozenset[str]


class Names:
    """The names of one module; ``resolve`` gives the origins of an expression, ``text`` its constant string."""

    rounds = 4
    max_origins = 32

    def __init__(self, tree: ast.Module, nodes: list[ast.AST]) -> None:
        self._known: dict[str, set[str]] = defaultdict(set)
        self._resolved: dict[int, Origins] = {}
        self._held: dict[str, tuple[int, Origins]] = {}
        self.defined = {
            node.name
            for node in nodes
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
        }
        self.values: dict[str, list[ast.expr | None]] = defaultdict(list)
        self._shadowed = dict(_shadows(tree, nodes))
        self._bind(nodes)

    def resolve(self, node: ast.AST | None) -> Origins:
        """Every origin that an expression may stand for."""
        if node is None:
            return _NOTHING
        if id(node) not in self._resolved:
            self._resolved[id(node)] = self.kept(origins_of(self, node))
        return self._resolved[id(node)]

    def kept(self, origins: Iterable[str]) -> Origins:
        """As many of the origins of one expression as are followed further."""
        kept = {origin for origin in origins if len(origin) <= _MAX_LENGTH}
        return frozenset(kept if len(kept) <= self.max_origins else {UNTOLD})

    def of_name(self, name: str, line: int) -> Origins:
        """The origins of a plain name used at a line."""
        known = self._origins_held(name)
        if name == "__builtins__":
            return known | {"builtins.__builtins__"}
        shadowed = self._shadowed.get(name, line) < line
        return known if shadowed or not hasattr(builtins, name) else known | {f"builtins.{name}"}

    def of_attribute(self, name: str) -> Origins:
        """The origins of values that were stored under this attribute of any object."""
        return self._origins_held(f".{name}")

    def _origins_held(self, key: str) -> Origins:
        known = self._known.get(key)
        if not known:
            return _NOTHING
        held = self._held.get(key)
        if held is None or held[0] != len(known):
            held = self._held[key] = (len(known), self.kept(known))
        return held[1]

    def imports(self, module: str) -> bool:
        """Whether some name stands for the module or a part of it."""
        return any(
            origin == module or origin.startswith(f"{module}.")
            for origins in self._known.values()
            for origin in origins
        )

    def text(self, node: ast.AST | None) -> str | None:
        """The string that an expression is certain to be, or None."""
        if isinstance(node, ast.Constant):
            value = node.value.decode("latin-1") if isinstance(node.value, bytes) else node.value
            return value if isinstance(value, str) else None
        if isinstance(node, ast.JoinedStr):
            return self._joined(node.values)
        if isinstance(node, ast.FormattedValue):
            plain = node.format_spec is None and node.conversion in (-1, ord("s"))
            return self.text(node.value) if plain else None
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
            return self._joined([node.left, node.right])
        if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice):
            return _sliced(self.text(node.value), node.slice)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            return self._method(node.func, node.args)
        return None

    def _joined(self, parts: list[ast.expr], glue: str = "") -> str | None:
        texts = [self.text(part) for part in parts]
        return None if None in texts else glue.join(filter(None, texts))

    def _method(self, function: ast.Attribute, arguments: list[ast.expr]) -> str | None:
        text = self.text(function.value)
        if text is None:
            return None
        if function.attr == "join" and len(arguments) == 1:
            items = arguments[0]
            listed = isinstance(items, ast.List | ast.Tuple)
            return self._joined(items.elts, text) if listed else None  # type: ignore[attr-defined]
        if function.attr in ("lower", "strip", "upper") and not arguments:
            return str(getattr(text, function.attr)())
        if function.attr == "replace" and len(arguments) == 2:
            old, new = map(self.text, arguments)
            return None if old is None or new is None else text.replace(old, new)
        return None

    def _bind(self, nodes: list[ast.AST]) -> None:
        pairs: list[tuple[ast.Name | ast.Attribute, ast.expr | None]] = []
        for node in nodes:
            if isinstance(node, ast.Import | ast.ImportFrom):
                self._import(node)
            elif isinstance(node, _BINDERS):
                pairs.extend(_pairs(node))
        for target, value in pairs:
            if isinstance(target, ast.Name):
                self.values[target.id].append(value)
        self.settled = False
        for _ in range(self.rounds):
            before = sum(map(len, self._known.values()))
            for target, value in pairs:
                key = target.id if isinstance(target, ast.Name) else f".{target.attr}"
                if self._origins_held(key) != _LOST:
                    self._known[key] |= self.resolve(value)
            self._resolved.clear()
            self.settled = sum(map(len, self._known.values())) == before
            if self.settled:
                break

    def _import(self, node: ast.Import | ast.ImportFrom) -> None:
        for alias in node.names:
            if isinstance(node, ast.Import):
                name = alias.asname or alias.name.split(".")[0]
                self._known[name].add(alias.name if alias.asname else name)
            elif node.level == 0 and alias.name == "*":
                for name in _public(node.module or ""):
                    self._known[name].add(f"{node.module}.{name}")
            elif node.level == 0:
                self._known[alias.asname or alias.name].add(f"{node.module}.{alias.name}")


def _public(module: str) -> set[str]:
    """The names of a module that a table knows, for ``from module import *``."""
    start = f"{tables.SAME_MODULE.get(module, module)}."
    known = [*tables.FUNCTIONS, *tables.MODULES]
    found = {name.removeprefix(start).split(".")[0] for name in known if name.startswith(start)}
    exact = {name for name in found if not name.endswith("*")}
    begun = [name[:-1] for name in found if name.endswith("*")]
    loose = ("execv", "execl", "execvp", "execlp", "execve", "spawnv", "spawnl", "posix_spawn")
    return exact | {name for name in loose if any(name.startswith(start) for start in begun)}


def _pairs(node: ast.AST) -> Iterator[tuple[ast.Name | ast.Attribute, ast.expr | None]]:
    """What a node binds, with the value; None where the value cannot be told."""
    if isinstance(node, ast.Assign):
        for target in node.targets:
            yield from _matched(target, node.value)
    elif isinstance(node, ast.AnnAssign | ast.NamedExpr):
        yield from _matched(node.target, node.value)
    elif isinstance(node, ast.AugAssign):
        yield from _matched(node.target, None)
    elif isinstance(node, ast.For | ast.AsyncFor | ast.comprehension):
        listed = isinstance(node.iter, ast.List | ast.Tuple | ast.Set)
        for item in node.iter.elts if listed else [None]:  # type: ignore[attr-defined]
            yield from _matched(node.target, item)
    elif isinstance(node, ast.withitem) and node.optional_vars is not None:
        yield from _matched(node.optional_vars, node.context_expr)
    elif isinstance(node, _FUNCTIONS):
        yield from _parameters(node.args)
    else:
        yield from ((ast.Name(name, ast.Store()), value) for name, value in _named(node))


def _named(node: ast.AST) -> Iterator[tuple[str, ast.expr]]:
    """A class by its bases, and what a handler may catch as calls of the classes that it names."""
    if isinstance(node, ast.ClassDef):
        yield from ((node.name, base) for base in node.bases)
    elif isinstance(node, ast.ExceptHandler) and node.name is not None:
        kinds = node.type.elts if isinstance(node.type, ast.Tuple) else [node.type]
        yield from ((node.name, ast.Call(kind, [], [])) for kind in kinds if kind is not None)


def _matched(
    target: ast.AST, value: ast.expr | None
) -> Iterator[tuple[ast.Name | ast.Attribute, ast.expr | None]]:
    if isinstance(target, ast.Name | ast.Attribute):
        yield target, value
    elif isinstance(target, ast.Starred):
        yield from _matched(target.value, None)
    elif isinstance(target, ast.Tuple | ast.List):
        same = isinstance(value, ast.Tuple | ast.List) and len(value.elts) == len(target.elts)
        values = value.elts if same else [None] * len(target.elts)  # type: ignore[union-attr]
        for inner, part in zip(target.elts, values, strict=True):
            yield from _matched(inner, part)


def _parameters(
    arguments: ast.arguments,
) -> Iterator[tuple[ast.Name | ast.Attribute, ast.expr | None]]:
    positional = [*arguments.posonlyargs, *arguments.args]
    defaults = zip_longest(reversed(positional), reversed(arguments.defaults))
    named = zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
    rest = ((extra, None) for extra in (arguments.vararg, arguments.kwarg) if extra is not None)
    for parameter, value in (*defaults, *named, *rest):
        yield ast.Name(parameter.arg, ast.Store()), value
        yield ast.Name(parameter.arg, ast.Store()), None


def _shadows(tree: ast.Module, nodes: list[ast.AST]) -> Iterator[tuple[str, int]]:
    """Names that the module itself binds at its top, and from which line on; later ones win nothing."""
    names = (node for node in nodes if isinstance(node, ast.Name))
    deleted = {node.id for node in names if isinstance(node.ctx, ast.Del)}
    for node in reversed(tree.body):
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name not in deleted:
            yield node.name, node.lineno
        elif isinstance(node, ast.Import | ast.ImportFrom):
            for alias in node.names:
                if (alias.asname or alias.name) not in deleted:
                    yield alias.asname or alias.name, node.lineno


def _sliced(text: str | None, cut: ast.Slice) -> str | None:
    parts = (cut.lower, cut.upper, cut.step)
    bounds = []
    for part in parts:
        try:
            bounds.append(None if part is None else ast.literal_eval(part))
        except ValueError:
            return None
    whole = all(bound is None or type(bound) is int for bound in bounds) and bounds[2] != 0
    return text[slice(*bounds)] if text is not None and whole else None
