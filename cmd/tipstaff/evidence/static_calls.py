"""Calls that are given a name, or code, as text: what the text tells, or that there is none to tell it."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

from tipstaff.evidence import static_tables as tables
from tipstaff.evidence.python_origins import GETTERS, IMPORTERS
from tipstaff.evidence.python_source import Unreadable
from tipstaff.evidence.static_found import Found, is_foreign
from tipstaff.evidence.static_names import StaticNames

_ATTRIBUTE = "an attribute named at run time"


class Calls:
    """Judges one call after another; ``read`` reads code that stands in a text, and is None where it is too deep."""

    def __init__(
        self, names: StaticNames, found: Found, read: Callable[[str, StaticNames], Found] | None
    ) -> None:
        self._names = names
        self._found = found
        self._read = read

    def call(self, node: ast.Call) -> None:
        """Note what a call reaches by text."""
        callees = self._names.resolve(node.func)
        if not callees:
            return
        texts = [self._names.text(argument) for argument in node.args]
        first = texts[0] if texts else None
        if callees & GETTERS and (len(texts) < 2 or texts[1] is None):
            self._found.untold(node, _ATTRIBUTE)
        if callees & tables.PICKERS:
            names = texts if "operator.attrgetter" in callees else texts[:1]
            if not names or None in names:
                self._found.untold(node, _ATTRIBUTE)
        if callees & tables.SCOPES:
            self._scope(node, callees)
        if callees & IMPORTERS:
            self._import(node, first)
        if callees & tables.FINDERS:
            self._find(node, first)
        if callees & tables.RUNNERS:
            self._run(node, first)
        if tables.LOGGING in callees and not self._is_plain(node):
            self._found.untold(node, "factories of a logging configuration made at run time")

    def is_told(self, call: ast.AST | None, function: ast.Attribute) -> bool:
        """Whether ``x.__getattribute__`` is called with the name as text, which is not one of the doors."""
        if not isinstance(call, ast.Call) or call.func is not function or not call.args:
            return False
        text = self._names.text(call.args[-1])
        return text is not None and text not in tables.DOORS

    def _scope(self, node: ast.Call, callees: frozenset[str]) -> None:
        if callees != {"builtins.vars"} or not node.args:
            self._found.untold(node, "names of this text looked up at run time")
        elif any(map(is_foreign, self._names.resolve(node.args[0]))):
            self._found.untold(node, tables.NAMESPACE)

    def _import(self, node: ast.Call, module: str | None) -> None:
        if module is None:
            self._found.untold(node, "a module named at run time")
            return
        package = next((self._names.text(w.value) for w in node.keywords if w.arg == "package"), "")
        name = f"{package or ''}{module}" if module.startswith(".") else module
        self._found.module(node, name)

    def _find(self, node: ast.Call, name: str | None) -> None:
        if name is None:
            self._found.untold(node, "an object named at run time")
        else:
            dotted = name.replace(":", ".")
            if self._names.is_module(dotted.split(".")[0]):
                self._found.module(node, dotted.split(".")[0])
            if not self._names.is_module(dotted):
                self._found.origin(node, dotted)

    def _run(self, node: ast.Call, text: str | None) -> None:
        if text is None or self._read is None or _holds_bytes(node.args[0]):
            self._found.untold(node, "code made at run time")
            return
        try:
            self._found.inside(node, self._read(text.strip(), self._names))
        except Unreadable:
            self._found.untold(node, "code in a text that cannot be read")

    def _is_plain(self, node: ast.Call) -> bool:
        """Whether a logging configuration is written out, and names no factory."""
        given = node.args[0] if node.args else None
        values = self._names.values.get(given.id, []) if isinstance(given, ast.Name) else [given]
        return bool(values) and all(
            isinstance(value, ast.Dict)
            and all(self._names.text(key) not in (None, "()") for key in _keys(value))
            for value in values
        )


def _holds_bytes(node: ast.expr) -> bool:
    """Code in bytes may declare another encoding than it seems to have."""
    return any(
        isinstance(part, ast.Constant) and isinstance(part.value, bytes) for part in ast.walk(node)
    )


def _keys(value: ast.Dict) -> Iterator[ast.expr | None]:
    for node in ast.walk(value):
        if isinstance(node, ast.Dict):
            yield from node.keys
