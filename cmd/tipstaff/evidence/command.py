"""A test command, split into arguments. No shell ever reads it; a command that needs one is refused."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from pathlib import PurePosixPath

from tipstaff.errors import ContractError
from tipstaff.sandbox.backend import SCRATCH
from tipstaff.sandbox.toolchain import is_python

JUNIT_FILE = f"{SCRATCH}/junit.xml"
_PYTEST = frozenset({"pytest", "py.test"})
_PYTEST_OPTIONS = (f"--junitxml={JUNIT_FILE}", "-p", "no:cacheprovider")
_OPTIONS_WITH_VALUE = frozenset({"-W", "-X"})
_SINGLE_QUOTED = re.compile(r"\\.|'[^']*'")
_QUOTED = re.compile(r"""\\.|'[^']*'|"(?:\\.|[^"\\])*\"""")
_MODULE = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*")
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")


@dataclass(frozen=True)
class Command:
    """The arguments of a test command; the first is the program as it was written."""

    arguments: tuple[str, ...]

    @property
    def program(self) -> str:
        """The program, by name or path."""
        return self.arguments[0]

    def reporting(self) -> tuple[str, ...]:
        """The arguments, with those that make pytest write its report and nothing else."""
        if not self._is_pytest():
            return self.arguments
        end = self.arguments.index("--") if "--" in self.arguments else len(self.arguments)
        return (*self.arguments[:end], *_PYTEST_OPTIONS, *self.arguments[end:])

    def words(self) -> tuple[str, ...]:
        """The paths that the arguments may name: after ``=``, before ``::``, and behind a module's name."""
        found = []
        for word in self.arguments:
            value = word.partition("=")[2] if word.startswith("-") else word
            found.append(value.partition("::")[0])
            if _MODULE.fullmatch(found[-1]):
                path = found[-1].replace(".", "/")
                found += [path, f"{path}.py"]
        return tuple(word for word in found if word)

    def _is_pytest(self) -> bool:
        if PurePosixPath(self.program).name in _PYTEST:
            return True
        if not is_python(self.program):
            return False
        rest = iter(self.arguments[1:])
        for word in rest:
            if word == "-m":
                return next(rest, "") in _PYTEST
            if word in _OPTIONS_WITH_VALUE:
                next(rest, "")
            elif not word.startswith("-") or word == "-c":
                return False
        return False


def parse(text: str) -> Command:
    """Split a command line; raises ``ContractError`` (``tests.command``) naming what is wrong with it."""
    if "\0" in text:
        raise _refusal("contains a NUL byte", "write it as plain text")
    try:
        arguments = tuple(shlex.split(text))
    except ValueError as error:
        raise _refusal(str(error).lower(), "close every quotation mark") from error
    if not arguments or not arguments[0]:
        raise _refusal("is empty", "write it like `python -m pytest -q tests`")
    needed = _needs_shell(text)
    if needed:
        raise _refusal(
            f"uses {needed!r}, which only a shell understands, and none is used",
            "write one plain command, or put the steps into a script in the repository and name that",
        )
    return Command(arguments)


def _needs_shell(text: str) -> str | None:
    expanded = _SINGLE_QUOTED.sub("", text)
    bare = _QUOTED.sub("", text)
    for pattern, where in (
        (r"\$[A-Za-z_({?$!#@*0-9]|`", expanded),
        (r"[;&|<>()\n]|[*?]", bare),
        (r"(?<!\S)~", bare),
        (r"(?<!\S)#", bare),
    ):
        match = re.search(pattern, where.strip())
        if match:
            return match[0]
    first = text.split()[0]
    return first if _ASSIGNMENT.match(first) else None


def _refusal(complaint: str, fix: str) -> ContractError:
    return ContractError("tests.command", f"the test command {complaint}", field="tests", fix=fix)
