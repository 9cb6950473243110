"""Which capabilities added code uses, read from the code itself and never run.

Each language has its own reader; where none can read the text as what it claims to be, the answer is
``unreadable_code``. Finding nothing is no proof of harmlessness: the sandbox is what holds at run time.
"""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

from tipstaff.evidence import pattern_tables
from tipstaff.evidence.capability_tables import SHELL, UNREADABLE
from tipstaff.evidence.language import shebang_language
from tipstaff.evidence.python_capabilities import python_capabilities
from tipstaff.evidence.shell_capabilities import (
    Added,
    dockerfile_capabilities,
    makefile_capabilities,
    overlaps,
    script_capabilities,
    text_capabilities,
)

if TYPE_CHECKING:
    import yaml

MAX_CHARACTERS = 1 << 20
MAX_YAML_CHARACTERS = 256 << 10
_FENCE = re.compile(r"^ {0,3}(?:> ?)*\s*(`{3,}|~{3,})\s*\{?\.?(\w*)")
_PYTHON_FENCES = frozenset({"py", "python", "python3", "pycon"})
_PROMPT = re.compile(r"^(?:>>>|\.\.\.) ?")
_ESCAPED = re.compile(r"\\(?:u\{?([0-9a-fA-F]{4,6})\}?|x([0-9a-fA-F]{2}))")
_GLUED = re.compile(r"""(['"`])\s*\+\s*(['"`])""")
_JOB_HOLDERS = frozenset({"jobs", "runs"})


def detect(
    path: str,
    language: str | None,
    text: str,
    added_lines: set[int] | None,
    *,
    base: str | None = None,
) -> set[str]:
    """The capabilities used by the added lines (numbered from 1) of a file; None means that all are new.

    With the text of the base, uses that its old lines have come to since are found too.
    """
    found: set[str] = set()
    # A script runs as what its first line says, whatever its name says.
    runs_as = shebang_language(text.encode("utf-8", "replace"))
    for reading in {language, runs_as or language}:
        if reading == "unknown":
            found.add(UNREADABLE)
            continue
        if added_lines is None or added_lines:
            found |= _read(path, reading, text, added_lines, base)
        if base is not None and added_lines is not None and reading != "python":
            found |= _read(path, reading, text, None) - _read(path, reading, base, None)
    return found


def _read(
    path: str, language: str | None, text: str, added: Added, base: str | None = None
) -> set[str]:
    if language in pattern_tables.INERT:
        return set()
    if len(text) > MAX_CHARACTERS:
        return {UNREADABLE}
    if language == "python":
        return python_capabilities(text, added, base)
    if language == "json":
        return _json(path, text, added)
    reader = _READERS.get(language or "")
    if reader is not None:
        return reader(text, added)
    table = pattern_tables.BY_LANGUAGE.get(language or "", pattern_tables.OTHER)
    return _patterns(table, text, added)


def _patterns(table: Iterable[tuple[str, str]], text: str, added: Added) -> set[str]:
    lines = text.split("\n")
    kept = lines if added is None else [lines[n - 1] for n in sorted(added) if n <= len(lines)]
    if any(pattern_tables.QUOTING.search(line) for line in kept):
        kept = lines
    plain = _ESCAPED.sub(
        lambda match: chr(min(int(match[1] or match[2], 16), 0x10FFFF)), "\n".join(kept)
    )
    plain = _GLUED.sub("", plain)
    return {capability for pattern, capability in table if re.search(pattern, plain)}


def _markdown(text: str, added: Added) -> set[str]:
    found: set[str] = set()
    for first, block in _python_fences(text.split("\n")):
        end = first + len(block) - 1
        if not block or not overlaps(first - 1, end + 1, added):
            continue
        fenced_now = added is not None and not added.isdisjoint({first - 1, end + 1})
        code = [_PROMPT.sub("", line) for line in textwrap.dedent("\n".join(block)).split("\n")]
        inside = None if added is None or fenced_now else {line - first + 1 for line in added}
        if any(_PROMPT.match(line.lstrip()) for line in block):
            # In a session, what is not behind a prompt is output.
            code = [
                new if _PROMPT.match(old.lstrip()) else ""
                for new, old in zip(code, block, strict=True)
            ]
        found |= python_capabilities("\n".join(code), inside)
    return found


def _python_fences(lines: list[str]) -> Iterator[tuple[int, list[str]]]:
    """The number of the first line, and the lines, of each fenced block that says it is Python."""
    opened: tuple[str, int, bool] | None = None
    for number, line in enumerate([*lines, ""], 1):
        fence = _FENCE.match(line)
        ends = (
            opened is not None
            and fence is not None
            and fence[1].startswith(opened[0])
            and not fence[2]
        )
        if opened is not None and (ends or number > len(lines)):
            if opened[2]:
                yield opened[1] + 1, lines[opened[1] : number - 1]
            opened = None
        elif opened is None and fence is not None:
            opened = (fence[1], number, fence[2].lower() in _PYTHON_FENCES)


def _json(path: str, text: str, added: Added) -> set[str]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return {UNREADABLE}
    scripts = value.get("scripts") if isinstance(value, dict) else None
    if path.rsplit("/", 1)[-1] != "package.json" or not isinstance(scripts, dict):
        return set()
    lines = text.split("\n")
    new = text if added is None else "\n".join(lines[n - 1] for n in added if n <= len(lines))
    found: set[str] = set()
    for script in scripts.values():
        if isinstance(script, str) and (added is None or json.dumps(script)[1:-1] in new):
            found |= {SHELL, *text_capabilities(script)}
    return found


def _yaml(text: str, added: Added) -> set[str]:
    import yaml

    if len(text) > MAX_YAML_CHARACTERS:
        return {UNREADABLE}
    try:
        documents = list(yaml.compose_all(text, yaml.SafeLoader))
        found: set[str] = set()
        for key, command in _commands(documents):
            last = command.end_mark
            end = last.line + (1 if last.column else 0)
            if overlaps(key.start_mark.line + 1, key.end_mark.line + 1, added) or overlaps(
                command.start_mark.line + 1, max(command.start_mark.line + 1, end), added
            ):
                found |= {SHELL, *text_capabilities(str(command.value))}
        return found
    except (yaml.YAMLError, RecursionError):
        return {UNREADABLE}


def _commands(documents: list[Any]) -> Iterator[tuple[yaml.Node, yaml.Node]]:
    """The ``run:`` entries below ``jobs:`` or ``runs:``, as pairs of key and value."""
    import yaml

    waiting = [
        value
        for document in documents
        if isinstance(document, yaml.MappingNode)
        for key, value in document.value
        if isinstance(key, yaml.ScalarNode) and key.value in _JOB_HOLDERS
    ]
    seen: set[int] = set()
    while waiting:
        node = waiting.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        if isinstance(node, yaml.MappingNode):
            for key, value in node.value:
                if key.value == "run" and isinstance(value, yaml.ScalarNode):
                    yield key, value
                waiting.append(value)
        elif isinstance(node, yaml.SequenceNode):
            waiting.extend(node.value)


_READERS: dict[str, Callable[[str, Added], set[str]]] = {
    "dockerfile": dockerfile_capabilities,
    "makefile": makefile_capabilities,
    "markdown": _markdown,
    "shell": script_capabilities,
    "yaml": _yaml,
}
