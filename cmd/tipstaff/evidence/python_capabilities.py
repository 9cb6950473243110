"""What added Python code uses, read from its syntax tree.

Aliases, constant strings and the usual ways around a name are followed; where one leads somewhere that cannot be
told, the answer is what it could reach. Calls into other modules of the project are not followed.
"""

from __future__ import annotations

import ast
import shlex
from collections import Counter
from collections.abc import Iterable

from tipstaff.evidence import capability_tables as tables
from tipstaff.evidence import python_source
from tipstaff.evidence.capability_lookup import lookup, module_escape
from tipstaff.evidence.capability_tables import DYNAMIC, SHELL, UNREADABLE
from tipstaff.evidence.python_names import Names
from tipstaff.evidence.python_origins import GETTERS, PARTIALS
from tipstaff.evidence.shell_capabilities import (
    Added,
    argv_capabilities,
    overlaps,
    starts_shell,
    text_capabilities,
)

_RUNNERS = frozenset({"builtins.eval", "builtins.exec", "builtins.compile"})
_MAX_NESTING = 3
_HANDING = frozenset({"getattr", "hasattr", "setattr", "delattr", "object", "getattr_static"})
_FALSE = ast.Constant(False)
_SAFE_LOADERS = ("SafeLoader", "CSafeLoader", "BaseLoader")


def python_capabilities(
    text: str, added: Added, base: str | None = None, *, nesting: int = 0
) -> set[str]:
    """The capabilities of the nodes that an added line is part of, and those that the base has fewer uses of.

    Text that cannot be parsed gives ``unreadable_code``; a base that cannot be parsed makes all of the text new.
    """
    try:
        reader = _Reader(python_source.parse(text), nesting)
        # Python ends a line at a lone carriage return and git does not, so the numbers would not agree.
        if added is None or "\r" in text.replace("\r\n", ""):
            return set(reader.uses(None))
        found = set(reader.uses(added))
        # Quotes around dead code, or a name that stands for something else, bring old lines to life.
        before = Counter() if base is None else _uses_in(base, nesting)
        return found if base is None else found | set(reader.uses(None) - before)
    except (python_source.Unreadable, RecursionError, MemoryError):
        return {UNREADABLE}


def _uses_in(base: str, nesting: int) -> Counter[str]:
    try:
        return _Reader(python_source.parse(base), nesting).uses(None)
    except (python_source.Unreadable, RecursionError, MemoryError):
        return Counter()


class _Reader:
    def __init__(self, tree: ast.Module, nesting: int) -> None:
        self.nodes, self.parents = python_source.walk(tree)
        self.nesting = nesting
        self._seen: dict[int, set[str]] = {}
        self._programs: dict[str, set[str]] = {}
        self._may_hold: dict[tuple[str, int], bool] = {}
        self._starts_processes: bool | None = None
        self.names = Names(tree, self.nodes)

    def uses(self, added: Added) -> Counter[str]:
        """How many nodes on the added lines use each capability."""
        found: Counter[str] = Counter()
        for node in self.nodes:
            start = getattr(node, "lineno", None)
            if start is None or not overlaps(start, getattr(node, "end_lineno", start), added):
                continue
            found.update(self._known(node))
            if isinstance(node, ast.JoinedStr):
                # Python 3.11 gives the parts of a long f-string line numbers that are not theirs.
                for part in ast.walk(node):
                    found.update(self._known(part))
        return found

    def _known(self, node: ast.AST) -> set[str]:
        if id(node) not in self._seen:
            self._seen[id(node)] = self._node(node)
        return self._seen[id(node)]

    def _node(self, node: ast.AST) -> set[str]:
        if isinstance(node, ast.Import | ast.ImportFrom):
            return self._import(node)
        if isinstance(node, ast.Constant):
            innards = isinstance(node.value, str) and node.value.startswith("__")
            return set(tables.METHODS.get(node.value, ())) if innards else set()  # type: ignore[arg-type]
        if isinstance(node, ast.Dict):
            return self._shell_keys(zip(node.keys, node.values, strict=True))
        if isinstance(node, ast.Assign):
            return self._shell_keys((_key(target), node.value) for target in node.targets)
        if isinstance(node, ast.List | ast.Tuple):
            return self._listed(node)
        found: set[str] = set()
        if isinstance(node, ast.Name | ast.Attribute | ast.Subscript | ast.Call):
            found = self._reference(node)
        if isinstance(node, ast.Call):
            found |= self._call(node)
        return found

    def _import(self, node: ast.Import | ast.ImportFrom) -> set[str]:
        if isinstance(node, ast.ImportFrom) and node.level:
            return set()
        start = f"{node.module}." if isinstance(node, ast.ImportFrom) else ""
        return set().union(*(lookup(start + alias.name) for alias in node.names))

    def _reference(self, node: ast.expr) -> set[str]:
        found: set[str] = set()
        if isinstance(node, ast.Attribute):
            found |= tables.METHODS.get(node.attr, frozenset())
        for origin in self.names.resolve(node):
            found |= lookup(origin)
            escape = module_escape(origin)
            if escape and self._escapes(node, as_dictionary=origin.endswith(".__dict__")):
                found |= escape
        return found

    def _escapes(self, node: ast.expr, *, as_dictionary: bool) -> bool:
        """Whether a module is used as a value, other than to take a named attribute or to give it a name."""
        parent = self.parents.get(id(node))
        if isinstance(parent, ast.Subscript) and parent.value is node:
            return False
        if isinstance(parent, ast.Attribute):
            return as_dictionary
        if isinstance(parent, ast.Assign | ast.AnnAssign | ast.NamedExpr):
            targets = parent.targets if isinstance(parent, ast.Assign) else [parent.target]
            return node not in targets and not all(isinstance(item, ast.Name) for item in targets)
        if isinstance(parent, ast.Call) and node in parent.args:
            callee = parent.func
            name = callee.attr if isinstance(callee, ast.Attribute) else getattr(callee, "id", "")
            if name in {*_HANDING, "vars"}:
                return False
        return not isinstance(getattr(node, "ctx", None), ast.Store | ast.Del)

    def _call(self, node: ast.Call) -> set[str]:
        callees = self.names.resolve(node.func)
        arguments, found = node.args, set[str]()
        if callees & PARTIALS and arguments:
            callees, arguments = self.names.resolve(arguments[0]), arguments[1:]
        if callees & tables.SUBPROCESS_CALLS:
            found |= self._subprocess(node, arguments)
        elif any(_sets_shell(word) for word in node.keywords) and self._reaches(node.func):
            found.add(SHELL)
        texts = [self.names.text(argument) for argument in arguments]
        if any(SHELL in lookup(callee) for callee in callees):
            found |= set().union(*(text_capabilities(text) for text in texts if text))
            found |= argv_capabilities(texts[1:]) | argv_capabilities(texts[2:])
        elif any(callee.endswith("create_subprocess_exec") for callee in callees):
            found |= argv_capabilities(texts)
        if callees & GETTERS:
            found |= set().union(*(tables.METHODS.get(text or "", ()) for text in texts[1:2]))
        if callees & _RUNNERS and texts and texts[0] is not None and self.nesting < _MAX_NESTING:
            found |= python_capabilities(texts[0], None, nesting=self.nesting + 1)
        return found | self._yaml(node, callees)

    def _reaches(self, callee: ast.expr) -> bool:
        """Whether a call may end in a process: not if it is of this module, and this module starts none."""
        own = isinstance(callee, ast.Name) and callee.id in self.names.defined
        return not own or self._imports_subprocess()

    def _imports_subprocess(self) -> bool:
        if self._starts_processes is None:
            self._starts_processes = self.names.imports("subprocess")
        return self._starts_processes

    def _subprocess(self, node: ast.Call, arguments: list[ast.expr]) -> set[str]:
        found = set()
        program = arguments[0] if arguments else None
        if len(arguments) > tables.SHELL_POSITION or any(
            isinstance(argument, ast.Starred) for argument in arguments
        ):
            found.add(SHELL)
        for keyword in node.keywords:
            if keyword.arg == "args":
                program = keyword.value
            elif keyword.arg == "executable":
                found |= argv_capabilities([self.names.text(keyword.value), "-c"])
            elif keyword.arg == "shell" and not _is_false(keyword.value):
                found.add(SHELL)
            elif keyword.arg is None and self._may_hold_shell(keyword.value):
                found.add(SHELL)
        return found | self._program(program)

    def _program(self, program: ast.expr | None) -> set[str]:
        text = self.names.text(program)
        if text is not None:
            return text_capabilities(text) | argv_capabilities(_words(text))
        if isinstance(program, ast.Name):
            if program.id not in self._programs:
                values = self.names.values.get(program.id, [])
                self._programs[program.id] = set().union(*map(self._argv, values))
            return self._programs[program.id]
        return self._argv(program)

    def _argv(self, program: ast.expr | None) -> set[str]:
        if isinstance(program, ast.BinOp):
            return self._argv(program.left) | self._argv(program.right)
        if isinstance(program, ast.Call) and isinstance(program.func, ast.Attribute):
            # "sh -c x".split(), or shlex.split("sh -c x")
            texts = [self.names.text(item) for item in (program.func.value, *program.args[:1])]
            return set().union(*(argv_capabilities(_words(text)) for text in texts if text))
        if not isinstance(program, ast.List | ast.Tuple):
            return set()
        words = [self._word(item) for item in program.elts]
        found = argv_capabilities(words)
        if words[:1] == ["python"] and "-c" in words[:-1] and self.nesting < _MAX_NESTING:
            code = words[words.index("-c") + 1]
            found |= (
                set() if code is None else python_capabilities(code, None, nesting=self.nesting + 1)
            )
        return found

    def _word(self, item: ast.expr) -> str | None:
        if "sys.executable" in self.names.resolve(item):
            return "python"
        return self.names.text(item)

    def _listed(self, node: ast.List | ast.Tuple) -> set[str]:
        return {SHELL} if starts_shell([self.names.text(item) for item in node.elts]) else set()

    def _may_hold_shell(self, value: ast.expr | None, depth: int = 0) -> bool:
        if depth > _MAX_NESTING or value is None:
            return True
        if isinstance(value, ast.Dict):
            pairs = zip(value.keys, value.values, strict=True)
            return any(self._sets(key, item, depth) for key, item in pairs)
        if isinstance(value, ast.Call) and "builtins.dict" in self.names.resolve(value.func):
            named = {word.arg: word.value for word in value.keywords}
            told = not value.args and None not in named
            return not told or not _is_false(named.get("shell", _FALSE))
        if isinstance(value, ast.Name):
            key = (value.id, depth)
            if key not in self._may_hold:
                values = self.names.values.get(value.id, [])
                self._may_hold[key] = not values or any(
                    self._may_hold_shell(item, depth + 1) for item in values
                )
            return self._may_hold[key]
        return True

    def _sets(self, key: ast.expr | None, value: ast.expr, depth: int) -> bool:
        if key is None:
            return self._may_hold_shell(value, depth + 1)
        return self.names.text(key) in (None, "shell") and not _is_false(value)

    def _shell_keys(self, pairs: Iterable[tuple[ast.expr | None, ast.expr]]) -> set[str]:
        """A key ``shell`` set anywhere in a module that starts processes is taken to reach one."""
        holds = any(self.names.text(key) == "shell" and not _is_false(item) for key, item in pairs)
        return {SHELL} if holds and self._imports_subprocess() else set()

    def _yaml(self, node: ast.Call, callees: frozenset[str]) -> set[str]:
        if not callees & {"yaml.load", "yaml.load_all"}:
            return set()
        loaders = [word.value for word in node.keywords if word.arg == "Loader"] or node.args[1:2]
        origins = set().union(*(self.names.resolve(loader) for loader in loaders))
        safe = loaders and all(origin.endswith(_SAFE_LOADERS) for origin in origins)
        return set() if safe else {DYNAMIC}


def _key(target: ast.expr) -> ast.expr | None:
    return target.slice if isinstance(target, ast.Subscript) else None


def _is_false(value: ast.expr) -> bool:
    return isinstance(value, ast.Constant) and not value.value


def _sets_shell(word: ast.keyword) -> bool:
    return word.arg == "shell" and isinstance(word.value, ast.Constant) and bool(word.value.value)


def _words(text: str) -> list[str | None]:
    try:
        return list(shlex.split(text))
    except ValueError:
        return [*text.split()]
