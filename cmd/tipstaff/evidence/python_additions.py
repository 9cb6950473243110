"""What statements added to a Python module do to the objects that were there before."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field

_REFLECTION = frozenset(
    {"globals", "locals", "vars", "exec", "eval", "compile", "__import__", "__builtins__"}
)
_INNARDS = frozenset(
    {"__builtins__", "__code__", "__dict__", "__globals__", "__setattr__", "__delattr__"}
)
_PATCHERS = frozenset({"setattr", "delattr", "setitem", "delitem", "patch"})
_STOPPERS = frozenset({"_exit", "abort", "exit", "exec_module", "execv", "kill", "quit", "reload"})
_PURE = frozenset(
    {
        *("abs", "bool", "bytearray", "bytes", "dict", "enumerate", "float", "frozenset"),
        *("int", "isinstance", "issubclass", "len", "list", "max", "min", "object", "print"),
        *("property", "range", "repr", "reversed", "round", "set", "sorted", "staticmethod"),
        *("classmethod", "str", "sum", "super", "tuple", "zip"),
    }
)
_FRESH = (
    *(ast.Constant, ast.List, ast.Dict, ast.Set, ast.Tuple, ast.JoinedStr, ast.Compare),
    *(ast.ListComp, ast.DictComp, ast.SetComp, ast.GeneratorExp, ast.Lambda),
)
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)

_Judgement = bool | None


@dataclass(frozen=True)
class ModuleNames:
    """Names of the older module that are not imports (``own``), and those of its classes."""

    own: frozenset[str]
    classes: frozenset[str]


@dataclass
class Additions(ast.NodeVisitor):
    """Walks added statements and remembers the worst that they do."""

    existing: ModuleNames
    _touched: bool = False
    _unknown: bool = False
    _function_depth: int = 0
    _scopes: list[dict[str, _Judgement]] = field(default_factory=list)

    def judge(self, added: list[ast.stmt]) -> bool | None:
        """True if they write to what exists, None if that cannot be told, else False."""
        self._scopes = [_local_names(ast.Module(added, []))]
        for node in added:
            self.visit(node)
        return True if self._touched else None if self._unknown else False

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        """A function: its decorators and defaults run now, its body later."""
        self._function(node, node.decorator_list)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> None:
        """As for a plain function."""
        self._function(node, node.decorator_list)

    def visit_Lambda(self, node: ast.Lambda) -> None:
        """As for a plain function, without decorators."""
        self._function(node, [])

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        """A class: its whole body runs now."""
        self._decorators(node.decorator_list)
        self.generic_visit(node)

    def visit_Raise(self, node: ast.Raise) -> None:
        """Raised while the module loads, it keeps what follows from being defined."""
        self._touched |= not self._function_depth
        self.generic_visit(node)

    def visit_While(self, node: ast.While) -> None:
        """A loop that may not end keeps what follows from being defined."""
        self._unknown |= not self._function_depth
        self.generic_visit(node)

    def visit_Assert(self, node: ast.Assert) -> None:
        """As for raise, but it may hold."""
        self._unknown |= not self._function_depth
        self.generic_visit(node)

    def visit_Expr(self, node: ast.Expr) -> None:
        """A call for its effect alone, while the module loads, may do anything."""
        call = node.value
        if not self._function_depth and not isinstance(call, ast.Constant):
            pure = isinstance(call, ast.Call) and _last(call.func) in _PURE
            self._unknown |= not pure
        self.generic_visit(node)

    def visit_Name(self, node: ast.Name) -> None:
        """Reflection reaches every name of the module."""
        self._touched |= node.id in _REFLECTION

    def visit_Attribute(self, node: ast.Attribute) -> None:
        """An attribute may be written, or be a way to what lies behind an object."""
        self._touched |= node.attr in _INNARDS
        self._target(node, node.ctx)

    def visit_Subscript(self, node: ast.Subscript) -> None:
        """An item may be written."""
        self._target(node, node.ctx)

    def visit_Call(self, node: ast.Call) -> None:
        """A call may write to an object named in it, or stop the module from loading."""
        name = _last(node.func)
        if name in ("setattr", "delattr") and isinstance(node.func, ast.Name):
            self._note(self._writes_to(node.args[0] if node.args else node))
        elif name in _PATCHERS or name in _STOPPERS or _root(node.func) == "patch":
            self._unknown = True
        if not self._function_depth and name not in _PURE:
            self._unknown |= self._is_existing(node.func, classes=False)
            arguments = [*node.args, *(keyword.value for keyword in node.keywords)]
            self._unknown |= any(self._is_existing(argument) for argument in arguments)
        self.generic_visit(node)

    def _function(
        self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda, decorators: list[ast.expr]
    ) -> None:
        self._decorators(decorators)
        for default in (*node.args.defaults, *filter(None, node.args.kw_defaults)):
            self.visit(default)
        self._function_depth += 1
        self._scopes.append(_local_names(node))
        for part in node.body if isinstance(node.body, list) else [node.body]:
            self.visit(part)
        self._scopes.pop()
        self._function_depth -= 1

    def _decorators(self, decorators: list[ast.expr]) -> None:
        for node in decorators:
            if self._is_existing(node):
                # ``@existing.register`` writes into an object; a bare decorator only may.
                called = node.func if isinstance(node, ast.Call) else node
                self._note(True if isinstance(called, ast.Attribute) else None)
            self.visit(node)

    def _is_existing(self, node: ast.AST, *, classes: bool = True) -> bool:
        root = _root(node)
        held = root in self.existing.own
        return held and (classes or root not in self.existing.classes)

    def _target(self, node: ast.Attribute | ast.Subscript, context: ast.expr_context) -> None:
        if not isinstance(context, ast.Load):
            self._note(self._writes_to(node.value))
        self.generic_visit(node)

    def _note(self, judgement: _Judgement) -> None:
        self._touched |= judgement is True
        self._unknown |= judgement is None

    def _writes_to(self, target: ast.AST) -> _Judgement:
        """False where the written object was certainly made by the additions themselves."""
        if not isinstance(target, ast.Name):
            # Whatever lies inside an object may have been there before, even inside a new one.
            known = any(_root(target) in scope for scope in self._scopes)
            return None if known else True
        for scope in reversed(self._scopes):
            if target.id in scope:
                return scope[target.id]
        return True


def _local_names(scope: ast.AST) -> dict[str, _Judgement]:
    """Names a scope binds: False where each value is made on the spot, True where one is an older object."""
    found: dict[str, _Judgement] = {}
    arguments = getattr(scope, "args", None)
    if isinstance(arguments, ast.arguments):
        found = {node.arg: False for node in ast.walk(arguments) if isinstance(node, ast.arg)}
    declared: set[str] = set()
    for node in _own_nodes(scope):
        if isinstance(node, ast.Global | ast.Nonlocal):
            declared.update(node.names)
        for target, value in _assignments(node):
            found[target] = _worse(found.get(target, False), _origin(value, found))
    return {name: how for name, how in found.items() if name not in declared}


def _own_nodes(scope: ast.AST) -> Iterator[ast.AST]:
    """The nodes of a scope without those of functions and classes inside it."""
    for node in ast.iter_child_nodes(scope):
        yield node
        if not isinstance(node, (*_FUNCTIONS, ast.ClassDef)):
            yield from _own_nodes(node)


def _assignments(node: ast.AST) -> Iterator[tuple[str, ast.AST | None]]:
    if isinstance(node, ast.Assign | ast.AnnAssign | ast.NamedExpr):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        for target in targets:
            if isinstance(target, ast.Name):
                yield target.id, node.value
                continue
            yield from ((inner, None) for inner in _stored(target))
    elif isinstance(node, ast.For | ast.AsyncFor | ast.comprehension):
        yield from ((inner, None) for inner in _stored(node.target))
    elif isinstance(node, ast.withitem) and node.optional_vars is not None:
        yield from ((inner, None) for inner in _stored(node.optional_vars))
    elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        yield node.name, ast.Constant(None)


def _stored(target: ast.AST) -> Iterator[str]:
    for node in ast.walk(target):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id


def _origin(value: ast.AST | None, known: dict[str, _Judgement]) -> _Judgement:
    if isinstance(value, _FRESH):
        return False
    if isinstance(value, ast.Call):
        name = _last(value.func) or ""
        return False if name in _PURE or name.lstrip("_")[:1].isupper() else None
    if isinstance(value, ast.Name | ast.Attribute):
        inner = known.get(_root(value) or "", True)
        return inner if isinstance(value, ast.Name) or inner is True else None
    return None


def _worse(one: _Judgement, other: _Judgement) -> _Judgement:
    if True in (one, other):
        return True
    return None if None in (one, other) else False


def _root(node: ast.AST) -> str | None:
    while isinstance(node, ast.Attribute | ast.Subscript | ast.Starred | ast.Call):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else None


def _last(node: ast.AST) -> str | None:
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else None
