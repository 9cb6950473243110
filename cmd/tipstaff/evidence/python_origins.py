"""The origins of each kind of Python expression; see ``python_names``."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tipstaff.evidence.python_names import Names

UNTOLD = "?"
IMPORTERS = frozenset(
    {
        *("builtins.__import__", "importlib.import_module", "importlib.__import__"),
        "pytest.importorskip",
    }
)
FINDERS = frozenset({"pkgutil.resolve_name", "pydoc.locate"})
GETTERS = frozenset({"builtins.getattr", "inspect.getattr_static"})
PARTIALS = frozenset({"functools.partial", "functools.partialmethod"})
_PICKERS = frozenset({"operator.attrgetter()", "operator.methodcaller()"})
_SCOPES = frozenset({"builtins.globals()", "builtins.locals()", "builtins.vars()"})

Origins = frozenset[str]
_NOTHING: Origins = frozenset()


def origins_of(names: Names, node: ast.AST) -> Iterable[str]:
    """Every origin that an expression may stand for, given what the names in it stand for."""
    return _RESOLVERS.get(type(node), _nothing)(names, node)


def _nothing(_names: Names, _node: ast.AST) -> Origins:
    return _NOTHING


def _name(names: Names, node: ast.Name) -> Origins:
    return names.of_name(node.id, node.lineno)


def _attribute(names: Names, node: ast.Attribute) -> Iterable[str]:
    found = {_below(base, node.attr) for base in names.resolve(node.value)}
    return found | names.of_attribute(node.attr)


def _inner(field: str) -> Callable[[Names, ast.AST], Origins]:
    return lambda names, node: names.resolve(getattr(node, field))


def _conditional(names: Names, node: ast.IfExp) -> Origins:
    return names.resolve(node.body) | names.resolve(node.orelse)


def _all_values(names: Names, node: ast.BoolOp) -> Origins:
    return _NOTHING.union(*(names.resolve(value) for value in node.values))


def _subscript(names: Names, node: ast.Subscript) -> Iterable[str]:
    if isinstance(node.value, ast.List | ast.Tuple):
        return _NOTHING.union(*(names.resolve(item) for item in node.value.elts))
    if isinstance(node.value, ast.Dict):
        return _NOTHING.union(*(names.resolve(item) for item in node.value.values))
    return _item(names, node.value, node.slice)


def _item(names: Names, holder: ast.AST, key: ast.AST) -> set[str]:
    found: set[str] = set()
    text = names.text(key)
    for base in names.resolve(holder):
        if base in _SCOPES:
            found |= {UNTOLD} if text is None else names.of_name(text, 1 << 30)
        elif base == "sys.modules":
            found.add(UNTOLD if text is None else text)
        elif base.endswith(".__dict__") or base.endswith(".__builtins__"):
            found.add(_below(base.removesuffix(".__dict__"), "*" if text is None else text))
    return found


def _call(names: Names, node: ast.Call) -> Iterable[str]:
    found: set[str] = set()
    for callee in names.resolve(node.func):
        found |= _returned(names, callee, node)
    if isinstance(node.func, ast.Call) and names.resolve(node.func) & _PICKERS and node.args:
        text = names.text(node.func.args[0]) if node.func.args else None
        attribute = "*" if text is None else text
        found |= {_below(base, attribute) for base in names.resolve(node.args[0])}
    if isinstance(node.func, ast.Attribute) and node.func.attr in ("get", "pop") and node.args:
        found |= _item(names, node.func.value, node.args[0])
    return found


def _returned(names: Names, callee: str, node: ast.Call) -> set[str]:
    first = node.args[0] if node.args else None
    if callee in IMPORTERS:
        text = names.text(first)
        return {UNTOLD} if text is None else {text, text.split(".")[0]}
    if callee in FINDERS:
        text = names.text(first)
        return {UNTOLD if text is None else text.replace(":", ".")}
    if callee.endswith(".__getattribute__") and node.args:
        text = names.text(node.args[-1])
        holders = names.resolve(first) if len(node.args) > 1 else {callee.rpartition(".")[0]}
        return {_below(holder, "*" if text is None else text) for holder in holders}
    if callee in GETTERS and len(node.args) > 1:
        text = names.text(node.args[1])
        return {_below(base, "*" if text is None else text) for base in names.resolve(first)}
    if callee in PARTIALS:
        return set(names.resolve(first))
    if callee == "builtins.vars" and first is not None:
        return {f"{base}.__dict__" for base in names.resolve(first)}
    return {f"{callee}()"}


def _below(base: str, name: str) -> str:
    # The builtins are a module to some interpreters and a dictionary to others.
    return f"builtins.{name}" if base == "builtins.__builtins__" else f"{base}.{name}"


_RESOLVERS: dict[type[ast.AST], Callable[..., Iterable[str]]] = {
    ast.Name: _name,
    ast.Attribute: _attribute,
    ast.Subscript: _subscript,
    ast.Call: _call,
    ast.IfExp: _conditional,
    ast.BoolOp: _all_values,
    ast.Await: _inner("value"),
    ast.NamedExpr: _inner("value"),
    ast.Starred: _inner("value"),
}
