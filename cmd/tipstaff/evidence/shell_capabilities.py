"""What commands do: argument lists, shell text, Makefile recipes, Dockerfile instructions.

A word counts as a command at the head of a list or a segment, also behind known wrappers, paths, assignments and
quotes. What a shell expands at run time cannot be told; running a shell at all is the capability that stands for it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from tipstaff.evidence import capability_tables as tables
from tipstaff.evidence.capability_tables import DYNAMIC, NETWORK, SHELL

_SEPARATOR = re.compile(r"[;|&(){}`\n]|\$\(|[<>]\(")
_SPACE = re.compile(r"[\s<>]+")
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")
_KEYWORDS = frozenset("if then else elif while until do for case in ! time coproc function".split())
_RECIPE_SIGNS = re.compile(
    r"\$[({]shell\b|\$[({]eval\b|!=|^\s*define\b|\.RECIPEPREFIX|::?=.*\$\(shell"
)
_INSTRUCTION = re.compile(
    r"\s*(?:ONBUILD\s+)?(ADD|ARG|CMD|COPY|ENTRYPOINT|ENV|EXPOSE|FROM|HEALTHCHECK|LABEL|MAINTAINER|RUN|SHELL"
    r"|STOPSIGNAL|USER|VOLUME|WORKDIR)\b(.*)",
    re.IGNORECASE | re.DOTALL,
)

Added = frozenset[int] | set[int] | None


def argv_capabilities(words: Sequence[str | None]) -> set[str]:
    """What running an argument list uses; None stands for a word that cannot be told."""
    names = [None if word is None else word.rsplit("/", 1)[-1] for word in words]
    found = {SHELL} if starts_shell(words) else set()
    head = _head(names)
    if head < len(names):
        found |= _command(names[head], words[head + 1 :])
    return found


def starts_shell(words: Sequence[str | None]) -> bool:
    """Whether a shell stands anywhere in an argument list with a flag that hands it a command behind it."""
    names = [None if word is None else word.rsplit("/", 1)[-1] for word in words]
    first = next((index for index, name in enumerate(names) if name in tables.SHELLS), len(names))
    return any(_is_command_flag(word) for word in words[first + 1 :])


def text_capabilities(text: str) -> set[str]:
    """What the commands in shell text use, beyond the shell itself."""
    found = set()
    if tables.DEVICE.search(text):
        found.add(NETWORK)
    for segment in _SEPARATOR.split(text):
        words = [
            word for part in _SPACE.split(segment) if (word := part.strip("$").translate(_BARE))
        ]
        found |= argv_capabilities(words)
        for word in words:
            name = word.rsplit("/", 1)[-1]
            if name in tables.ANYWHERE:
                found.add(tables.COMMANDS[name])
    return found


def script_capabilities(text: str, added: Added) -> set[str]:
    """What the added lines of a shell script use."""
    found = set()
    for line in _added_lines(text, added):
        if line.strip() and not line.lstrip().startswith("#"):
            found |= {SHELL, *text_capabilities(line)}
    return found


def makefile_capabilities(text: str, added: Added) -> set[str]:
    """What the added recipes, and assignments that hold commands, of a Makefile use."""
    everywhere = ".RECIPEPREFIX" in text or "define" in text
    found = set()
    for line in _added_lines(text, added):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        used = text_capabilities(line.split("=", 1)[-1])
        if everywhere or used or line.startswith("\t") or _is_recipe(line):
            found |= {SHELL, *used}
    return found


def dockerfile_capabilities(text: str, added: Added) -> set[str]:
    """What the added instructions of a Dockerfile use."""
    found = set()
    for start, end, line in _logical_lines(text, "`\\"):
        if not overlaps(start, end, added) or not line.strip() or line.lstrip().startswith("#"):
            continue
        instruction = _INSTRUCTION.match(line)
        name = instruction[1].upper() if instruction else "RUN"
        rest = instruction[2].strip() if instruction else line
        if name == "ADD" and tables.URL.search(rest):
            found.add(NETWORK)
        if name in ("RUN", "CMD", "ENTRYPOINT", "SHELL", "HEALTHCHECK"):
            found |= {SHELL, *text_capabilities(re.sub(r'[\[\],"]', " ", rest))}
    return found


def overlaps(start: int, end: int, added: Added) -> bool:
    """Whether any line from ``start`` to ``end`` was added; None means that all were."""
    if added is None:
        return True
    if end - start < len(added):
        return any(line in added for line in range(start, end + 1))
    return any(start <= line <= end for line in added)


_BARE = {ord(letter): None for letter in "\"'\\"}


def _is_command_flag(word: str | None) -> bool:
    return word is not None and bool(re.match(r"-[A-Za-z]*c|/c$|-Command", word, re.IGNORECASE))


def _head(names: Sequence[str | None]) -> int:
    """Where the command stands, behind wrappers with their options and values."""
    index = 0
    wrapped = False
    while index < len(names):
        name = names[index]
        is_wrapper = name is not None and (
            name in tables.WRAPPERS or name in _KEYWORDS or bool(tables.LOADER.match(name))
        )
        is_value = name is not None and (
            bool(_ASSIGNMENT.match(name))
            or (wrapped and bool(re.match(r"-|\d+(?:\.\d+)?[smhd]?$", name)))
        )
        if not (is_wrapper or is_value):
            return index
        wrapped = wrapped or is_wrapper
        index += 1
    return index


def _command(name: str | None, rest: Sequence[str | None]) -> set[str]:
    if name is None:
        # An untold program that is handed -c is most likely a shell of the user's choice.
        return {SHELL} if any(word == "-c" for word in rest) else set()
    found = set()
    if name in tables.SHELLS:
        found.add(SHELL)
    if name in tables.COMMANDS:
        found.add(tables.COMMANDS[name])
    if tables.INTERPRETERS.match(name):
        if any(word in tables.INTERPRETER_CODE for word in rest):
            found.add(DYNAMIC)
        if "-m" in rest[:-1]:
            module = list(rest).index("-m") + 1
            found |= _command(rest[module], rest[module + 1 :])
    words = tables.COMMAND_WORDS.get(name, {})
    return found | {words[word] for word in rest if word is not None and word in words}


def _is_recipe(line: str) -> bool:
    rule = ";" in line and ":" in line.split("=", 1)[0]
    return rule or bool(_RECIPE_SIGNS.search(line))


def _added_lines(text: str, added: Added) -> Iterator[str]:
    for start, end, line in _logical_lines(text, "\\"):
        if overlaps(start, end, added):
            yield line


def _logical_lines(text: str, continuations: str) -> Iterator[tuple[int, int, str]]:
    """Lines joined where one ends in a continuation mark; a comment is never continued."""
    parts: list[str] = []
    start = 1
    for number, line in enumerate(text.replace("\r\n", "\n").split("\n"), 1):
        comment = not parts and line.lstrip().startswith("#")
        if line and line[-1] in continuations and not comment:
            parts.append(line[:-1])
            continue
        yield start, number, "".join([*parts, line])
        parts, start = [], number + 1
    if parts:
        yield start, start + len(parts) - 1, "".join(parts)
