"""Where modules, and functions that take names, are handed on as values and so get out of sight."""

from __future__ import annotations

import ast

from tipstaff.evidence import static_tables as tables
from tipstaff.evidence.python_origins import GETTERS, IMPORTERS
from tipstaff.evidence.static_names import StaticNames

_PASSING = (ast.BoolOp, ast.IfExp, ast.NamedExpr)
_WATCHED = GETTERS | IMPORTERS | tables.RUNNERS | tables.FINDERS | tables.SCOPES


class Handing:
    """Looks at the place of an expression.

    ``parents`` are the parents of nodes, and ``class_names`` the targets that class bodies bind, by id.
    """

    def __init__(
        self, parents: dict[int, ast.AST], names: StaticNames, class_names: set[int]
    ) -> None:
        self._names = names
        self._class_names = class_names
        self.parents = parents

    def escaping(self, node: ast.expr) -> list[str]:
        """What gets out of sight here: modules and functions that take names; mostly nothing."""
        origins = self._names.resolve(node)
        if not origins or not isinstance(getattr(node, "ctx", ast.Load()), ast.Load):
            return []
        modules = [origin for origin in origins if self._names.is_module(origin)]
        watched = sorted(origins & _WATCHED)
        if not (modules or watched) or self._is_kept(node):
            return []
        if self._is_callee(node) or (modules and self._is_looked_into(node)):
            return []
        return sorted(modules) + watched

    def _is_callee(self, node: ast.expr) -> bool:
        parent = self.parents.get(id(node))
        return isinstance(parent, ast.Call) and parent.func is node

    def _is_looked_into(self, node: ast.expr) -> bool:
        """Whether a module is only asked for something that is named, or for whether it is there."""
        parent = self.parents.get(id(node))
        if isinstance(parent, ast.Attribute | ast.FormattedValue):
            return True
        if isinstance(parent, ast.Subscript):
            return parent.value is node
        if isinstance(parent, ast.Call):
            keeps = bool(self._names.resolve(parent.func) & tables.KEEPERS)
            return keeps and parent.args[:1] == [node]
        return False

    def _is_kept(self, node: ast.expr) -> bool:
        """Whether the value goes nowhere, or to a name that is followed."""
        parent = self.parents.get(id(node))
        if isinstance(parent, ast.Assign | ast.AnnAssign | ast.NamedExpr):
            targets = parent.targets if isinstance(parent, ast.Assign) else [parent.target]
            return parent.value is node and all(
                isinstance(target, ast.Name) and id(target) not in self._class_names
                for target in targets
            )
        if isinstance(parent, _PASSING):
            # What it passes on is looked at where it arrives; what it only tests goes nowhere.
            return True
        if isinstance(parent, ast.If | ast.While | ast.Assert):
            return parent.test is node
        if isinstance(parent, ast.UnaryOp):
            return isinstance(parent.op, ast.Not)
        if isinstance(parent, ast.Compare):
            return all(isinstance(how, ast.Is | ast.IsNot) for how in parent.ops)
        return isinstance(parent, ast.Expr)
