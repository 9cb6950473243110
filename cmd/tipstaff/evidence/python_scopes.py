"""Which variable each name of a Python module is: local names are given a spelling of their own.

A name that a function, lambda or comprehension binds becomes ``name@7`` wherever it is used, with the number of that
scope, and a name that Python mangles inside a class becomes what it is mangled to. What is left as it was is global, a
builtin or a name of a class body, which may fall back to either.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_CAPTURES = ((ast.MatchAs, "name"), (ast.MatchStar, "name"), (ast.MatchMapping, "rest"))


@dataclass
class _Scope:
    kind: str
    number: int
    parent: _Scope | None
    class_name: str = ""
    bound: set[str] = field(default_factory=set)
    kept: set[str] = field(default_factory=set)
    outside: dict[str, str] = field(default_factory=dict)

    def owner(self, name: str) -> _Scope | None:
        """The function or comprehension that binds the name as it is seen from here, if one does."""
        scope: _Scope | None = self
        while scope is not None:
            how = scope.outside.get(name)
            if how == "global" or (scope is self and scope.kind == "class" and name in scope.bound):
                return None
            if how is None and scope.kind in ("function", "comprehension") and name in scope.bound:
                return None if name in scope.kept else scope
            scope = scope.parent
        return None

    def spelling(self, name: str) -> str:
        """The name, with the number of the scope that binds it."""
        owner = self.owner(name)
        return name if owner is None else f"{name}@{owner.number}"

    def holder(self) -> _Scope:
        """Where ``:=`` binds."""
        scope = self
        while scope.kind == "comprehension" and scope.parent is not None:
            scope = scope.parent
        return scope

    def mangled(self, name: str) -> str:
        """The name as Python compiles it inside a class."""
        private = name.startswith("__") and not name.endswith("__")
        stem = self.class_name.lstrip("_")
        return f"_{stem}{name}" if private and stem else name


class Scopes:
    """Renames in place; ``class_names`` holds the names and imports, by id, that a class body binds."""

    def __init__(self, tree: ast.Module) -> None:
        self.class_names: set[int] = set()
        self._uses: list[tuple[ast.AST, str, _Scope]] = []
        self._declared: list[tuple[ast.Global | ast.Nonlocal, _Scope]] = []
        self._count = 0
        self._walk(tree)
        for node, attribute, scope in self._uses:
            setattr(node, attribute, scope.spelling(getattr(node, attribute)))
        for declared, scope in self._declared:
            declared.names = [scope.spelling(name) for name in declared.names]

    def _walk(self, tree: ast.Module) -> None:
        waiting: list[tuple[ast.AST, _Scope]] = [(tree, self._scope("module", None))]
        while waiting:
            node, scope = waiting.pop()
            waiting.extend(self._enter(node, scope))

    def _scope(self, kind: str, parent: _Scope | None, class_name: str | None = None) -> _Scope:
        self._count += 1
        inherited = parent.class_name if parent is not None else ""
        return _Scope(kind, self._count, parent, inherited if class_name is None else class_name)

    def _enter(self, node: ast.AST, scope: _Scope) -> Iterable[tuple[ast.AST, _Scope]]:
        """Note what a node binds and uses, and give its children with the scope of each."""
        if isinstance(node, _FUNCTIONS):
            return self._function(node, scope)
        if isinstance(node, ast.Lambda):
            inner = self._scope("function", scope)
            return [*self._parameters(node.args, scope, inner), (node.body, inner)]
        if isinstance(node, ast.ClassDef):
            return self._class(node, scope)
        if isinstance(node, _COMPREHENSIONS):
            return self._comprehension(node, scope)
        if isinstance(node, ast.NamedExpr):
            return [(node.target, scope.holder()), (node.value, scope)]
        self._note(node, scope)
        return ((child, scope) for child in ast.iter_child_nodes(node))

    def _function(
        self, node: ast.FunctionDef | ast.AsyncFunctionDef, scope: _Scope
    ) -> Iterator[tuple[ast.AST, _Scope]]:
        self._use(node, "name", scope, binds=True)
        inner = self._scope("function", scope)
        yield from ((child, scope) for child in node.decorator_list)
        yield from self._parameters(node.args, scope, inner)
        if node.returns is not None:
            yield node.returns, scope
        yield from ((child, inner) for child in (*getattr(node, "type_params", ()), *node.body))

    def _parameters(
        self, arguments: ast.arguments, scope: _Scope, inner: _Scope
    ) -> Iterator[tuple[ast.AST, _Scope]]:
        yield from ((child, scope) for child in arguments.defaults)
        yield from ((child, scope) for child in arguments.kw_defaults if child is not None)
        named = (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)
        for parameter in (*named, arguments.vararg, arguments.kwarg):
            if parameter is None:
                continue
            self._use(parameter, "arg", inner, binds=True)
            if parameter.annotation is not None:
                yield parameter.annotation, scope

    def _class(self, node: ast.ClassDef, scope: _Scope) -> Iterator[tuple[ast.AST, _Scope]]:
        self._use(node, "name", scope, binds=True)
        inner = self._scope("class", scope, node.name)
        outer = (*node.decorator_list, *node.bases, *node.keywords)
        yield from ((child, scope) for child in outer)
        yield from ((child, inner) for child in (*getattr(node, "type_params", ()), *node.body))

    def _comprehension(
        self, node: ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp, scope: _Scope
    ) -> Iterator[tuple[ast.AST, _Scope]]:
        inner = self._scope("comprehension", scope)
        first, *others = node.generators
        yield first.iter, scope
        yield first.target, inner
        yield from ((child, inner) for child in (*first.ifs, *others))
        parts = (node.key, node.value) if isinstance(node, ast.DictComp) else (node.elt,)
        yield from ((child, inner) for child in parts)

    def _note(self, node: ast.AST, scope: _Scope) -> None:
        if isinstance(node, ast.Name):
            binds = not isinstance(node.ctx, ast.Load)
            if binds and scope.kind == "class":
                self.class_names.add(id(node))
            self._use(node, "id", scope, binds=binds)
        elif isinstance(node, ast.Global | ast.Nonlocal):
            how = "global" if isinstance(node, ast.Global) else "nonlocal"
            node.names = [scope.mangled(name) for name in node.names]
            scope.outside.update((name, how) for name in node.names)
            self._declared.append((node, scope))
        elif isinstance(node, ast.Import | ast.ImportFrom):
            self._import(node, scope)
        elif isinstance(node, ast.ExceptHandler) and node.name is not None:
            self._use(node, "name", scope, binds=True)
        else:
            for kind, attribute in _CAPTURES:
                if isinstance(node, kind) and getattr(node, attribute) is not None:
                    self._use(node, attribute, scope, binds=True)

    def _import(self, node: ast.Import | ast.ImportFrom, scope: _Scope) -> None:
        if scope.kind == "class":
            self.class_names.add(id(node))
        for alias in node.names:
            if alias.asname is None and (isinstance(node, ast.Import) or alias.name == "*"):
                # ``import a.b`` binds ``a``, which no other spelling of the statement does.
                name = scope.mangled(alias.name.split(".")[0])
                scope.bound.add(name)
                scope.kept.add(name)
            else:
                alias.asname = alias.asname or alias.name
                self._use(alias, "asname", scope, binds=True)

    def _use(self, node: ast.AST, attribute: str, scope: _Scope, *, binds: bool) -> None:
        name = scope.mangled(getattr(node, attribute))
        setattr(node, attribute, name)
        if binds:
            scope.bound.add(name)
        self._uses.append((node, attribute, scope))
