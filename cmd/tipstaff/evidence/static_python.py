"""What Python source imports, calls and leaves untold, read from its syntax tree and never run.

Everything that is named counts, called or not, so what a name is handed to need not be followed. What must not happen
is that an object is reached with no name in the text: by a name made at run time, or by a module, or a way to one, that
is handed on as a value. Each such place is told in ``unresolved``.
"""

from __future__ import annotations

import ast
import warnings
from collections.abc import Callable
from contextlib import suppress

from tipstaff.evidence import python_source
from tipstaff.evidence import static_tables as tables
from tipstaff.evidence.python_scopes import Scopes
from tipstaff.evidence.static_calls import Calls
from tipstaff.evidence.static_found import Found, is_error, is_foreign
from tipstaff.evidence.static_handing import Handing
from tipstaff.evidence.static_modules import carried, is_standard, may_be_module
from tipstaff.evidence.static_names import StaticNames, Tangled, joined

_MAX_NESTING = 3
_LONGEST_FORMAT = 10_000
_LONGEST_NAME = 200
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def read(
    text: str,
    own: frozenset[str] = frozenset(),
    *,
    nesting: int = 0,
    outer: StaticNames | None = None,
) -> Found:
    """Everything that a module names; raises ``Unreadable`` for what Python does not compile.

    ``own`` are the names by which it would import itself, ``outer`` the names around code that stands in a text.
    """
    tree = python_source.parse(text)
    _compile(tree)
    found = Found(own=own)
    try:
        _Gate(tree, found, nesting, outer).read()
    except Tangled:
        found.untold(None, "the names are too tangled to follow")
    except RecursionError as error:
        raise python_source.Unreadable("nested too deeply") from error
    return found


def _compile(tree: ast.Module) -> None:
    """The parser takes more than the compiler does, such as ``return`` outside a function."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            compile(tree, "source", "exec", dont_inherit=True, optimize=0)
        except SyntaxError as error:
            raise python_source.Unreadable(f"line {error.lineno or 1}: {error.msg}") from error
        except ValueError as error:
            raise python_source.Unreadable(str(error)) from error
        except (RecursionError, MemoryError, OverflowError) as error:
            raise python_source.Unreadable("nested too deeply") from error


class _Gate:
    """Reads one tree, whose local names it gives other spellings, and adds to what was found."""

    def __init__(
        self, tree: ast.Module, found: Found, nesting: int, outer: StaticNames | None
    ) -> None:
        scopes = Scopes(tree)
        self._found = found
        self._nodes, self._parents = python_source.walk(tree)
        self._names = StaticNames(tree, self._nodes, outer)
        self._handing = Handing(self._parents, self._names, scopes.class_names)
        self._read = _reader(found.own, nesting)
        self._calls = Calls(self._names, found, self._read)
        self._class_names = scopes.class_names
        self._docstrings = {
            id(node.value)
            for node in self._nodes
            if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        }
        self._errors = {
            parameter.arg
            for node in self._nodes
            if isinstance(node, _FUNCTIONS) and node.name in tables.ERROR_TAKERS
            for parameter in ast.walk(node.args)
            if isinstance(parameter, ast.arg)
        }
        self._visitors: dict[type[ast.AST], list[Callable[..., None]]] = {
            ast.AnnAssign: [lambda node: self._annotation(node.annotation)],
            ast.Assign: [self._assign],
            ast.AsyncFunctionDef: [lambda node: self._annotation(node.returns)],
            ast.Attribute: [self._resolved, self._attribute],
            ast.BinOp: [self._made_text],
            ast.BoolOp: [self._resolved],
            ast.Call: [self._resolved, self._calls.call, self._made_text],
            ast.Constant: [self._constant],
            ast.FunctionDef: [lambda node: self._annotation(node.returns)],
            ast.IfExp: [self._resolved],
            ast.Import: [self._import],
            ast.ImportFrom: [self._import_from],
            ast.JoinedStr: [self._made_text],
            ast.MatchClass: [self._pattern],
            ast.Name: [self._resolved],
            ast.NamedExpr: [self._resolved],
            ast.Subscript: [self._resolved, self._subscript, self._made_text],
            ast.arg: [lambda node: self._annotation(node.annotation)],
        }

    def read(self) -> None:
        """Visit every node once."""
        if not self._names.settled:
            self._found.untold(None, "names that stand for one another too often to follow")
        for node in self._nodes:
            for visit in self._visitors.get(type(node), ()):
                visit(node)
        self._found.binds = any(map(_binds, self._nodes))
        roots = {name.split(".")[0] for name in self._found.calls if "." in name}
        self._found.imports |= {root for root in roots if root and is_standard(root)}

    def _annotation(self, annotation: ast.expr | None) -> None:
        """Some decorators and bases evaluate what annotations hold as text, without saying so."""
        for node in () if annotation is None else ast.walk(annotation):
            text = node.value if isinstance(node, ast.Constant) else None
            if isinstance(text, str) and "(" in text:
                self._code(node, text)

    def _code(self, node: ast.AST, text: str) -> None:
        if self._read is not None:
            with suppress(python_source.Unreadable):
                self._found.inside(node, self._read(text.strip(), self._names))

    def _import(self, node: ast.Import) -> None:
        if id(node) in self._class_names:
            self._found.untold(node, "a module becomes an attribute of a class")
        for alias in node.names:
            self._found.module(node, alias.name)
            if alias.asname is None:
                self._found.module(node, alias.name.split(".")[0])

    def _import_from(self, node: ast.ImportFrom) -> None:
        holder = f"{'.' * node.level}{node.module or ''}"
        if node.module is not None or any(alias.name == "*" for alias in node.names):
            self._found.module(node, holder)
        for alias in node.names:
            if alias.name == "*":
                continue
            name = joined(holder, alias.name)
            if may_be_module(name):
                self._found.module(node, name)
            if id(node) in self._class_names and self._names.is_module(name):
                self._found.untold(node, "a module becomes an attribute of a class")
            module = carried(holder, alias.name)
            if module is not None:
                self._found.module(node, module)
            self._named(node, name)

    def _resolved(self, node: ast.expr) -> None:
        is_bound = isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load)
        if is_bound and self._sets(node):
            self._found.untold(node, "what imports, or names, mean is set by the text itself")
        for origin in () if is_bound else self._names.resolve(node):
            self._named(node, origin)
        for escaped in self._handing.escaping(node):
            self._found.untold(node, f"{escaped.removeprefix('builtins.')} is handed on as a value")

    def _sets(self, node: ast.expr) -> bool:
        name = node.id if isinstance(node, ast.Name) else ""
        return name in tables.SETTINGS and id(node) not in self._class_names

    def _named(self, node: ast.AST, origin: str) -> None:
        if not self._names.is_module(origin) or origin.endswith("__dict__"):
            self._found.origin(node, origin)

    def _attribute(self, node: ast.Attribute) -> None:
        origins = self._names.resolve(node.value)
        if node.attr in tables.DOORS and not self._is_told(node):
            self._found.untold(node, f"the attribute {node.attr}")
        if node.attr == "__dict__" and any(map(is_foreign, origins)):
            self._found.untold(node, tables.NAMESPACE)
        if node.attr not in tables.LOOKUPS and any(map(self._is_namespace, origins)):
            self._found.untold(node, tables.NAMESPACE)
        if node.attr == "get_field" and self._names.imports("string"):
            self._found.untold(node, f"the attribute {node.attr}")
        given = isinstance(node.value, ast.Name) and node.value.id in self._errors
        if node.attr == "obj" and (given or any(map(is_error, origins))):
            self._found.untold(node, "what an exception kept as obj")
        if isinstance(node.value, ast.Attribute) and not origins:
            module = carried(None, node.value.attr)
            if module is not None:
                self._named(node, f"{module}.{node.attr}")

    def _is_told(self, node: ast.Attribute) -> bool:
        call = self._parents.get(id(node))
        return node.attr == "__getattribute__" and self._calls.is_told(call, node)

    def _is_namespace(self, origin: str) -> bool:
        return origin.endswith(".__dict__") and self._names.is_module(origin)

    def _subscript(self, node: ast.Subscript) -> None:
        if isinstance(node.value, ast.Attribute) and node.value.attr in tables.LINEAGE:
            self._found.untold(node, f"{node.value.attr} by its place")

    def _constant(self, node: ast.Constant) -> None:
        if isinstance(node.value, str | bytes) and id(node) not in self._docstrings:
            self._made_text(node)

    def _made_text(self, node: ast.AST) -> None:
        self._text(node, self._names.text(node))

    def _text(self, node: ast.AST, text: str | None) -> None:
        if text is None:
            return
        if len(text) < _LONGEST_NAME:
            for door in tables.DOORS.intersection(text.split(".")):
                self._found.untold(node, f"the name {door} as text")
        if len(text) < _LONGEST_FORMAT and isinstance(node, ast.Constant):
            if isinstance(node.value, str) and tables.CODE.search(text):
                self._code(node, text)
        if len(text) < _LONGEST_FORMAT and tables.FORMAT_WALK.search(text):
            self._found.untold(node, "a format that walks from attribute to attribute")

    def _pattern(self, node: ast.MatchClass) -> None:
        errors = any(map(is_error, self._names.resolve(node.cls)))
        for name in node.kwd_attrs:
            if name in tables.DOORS or (name == "obj" and errors):
                self._found.untold(node, f"the attribute {name}")

    def _assign(self, node: ast.Assign) -> None:
        names = {target.id for target in node.targets if isinstance(target, ast.Name)}
        if "__match_args__" not in names:
            return
        listed = node.value.elts if isinstance(node.value, ast.Tuple | ast.List) else [node.value]
        if not all(isinstance(item, ast.Constant) for item in listed):
            self._found.untold(node, "attributes of a pattern named at run time")


def _reader(own: frozenset[str], nesting: int) -> Callable[[str, StaticNames], Found] | None:
    """What reads code that stands in a text of this depth."""
    if nesting >= _MAX_NESTING:
        return None
    return lambda text, outer: read(text, own, nesting=nesting + 1, outer=outer)


def _binds(node: ast.AST) -> bool:
    if isinstance(node, ast.Name):
        return isinstance(node.ctx, ast.Store) and "@" not in node.id
    return isinstance(node, (ast.alias, ast.ClassDef, *_FUNCTIONS))
