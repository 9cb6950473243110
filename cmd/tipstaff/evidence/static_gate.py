"""What a source text names, by the language that its target says it is in; nothing of it is run or imported."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath
from typing import Literal, cast

from tipstaff.documents import strict_json, strict_yaml
from tipstaff.documents.modification_facts import StaticFacts
from tipstaff.documents.text import visible
from tipstaff.errors import ContractError, Error
from tipstaff.evidence import python_source, static_python
from tipstaff.evidence.capabilities import MAX_YAML_CHARACTERS, detect
from tipstaff.evidence.capability_tables import UNREADABLE
from tipstaff.evidence.language import detect_language
from tipstaff.evidence.static_found import Found
from tipstaff.evidence.static_modules import is_standard

Language = Literal["python", "json", "yaml", "rego"]
MAX_BYTES = 1 << 20
_MAX_TOKENS = 200_000
_MAX_LISTED = 2_000
_MAX_SHOWN = 300
_MAX_BRACKETS = 1_000
_BRACKET = re.compile(r"[\[\]{}]")
_TOKEN = re.compile(r"\w+|[^\w\s]")


class _Faulty(Exception):
    """The text is not what its target says it is; the message says where."""


class _Unread(Exception):
    """There is nothing here that reads the language."""


def examine(source: bytes | str, target: str) -> StaticFacts:
    """The facts of a source text that is meant for the path ``target``.

    Whatever the text is, there is an answer: one that cannot be read, or is too large or too deep to be read in
    seconds, has the syntax ``error``.
    """
    name = detect_language(target, b"")
    language = cast(Language, name) if name in _READERS else None
    try:
        data = source.encode() if isinstance(source, str) else source
        if len(data) > MAX_BYTES:
            raise _Faulty(f"larger than {MAX_BYTES} bytes")
        if b"\0" in data:
            raise _Faulty(f"line {1 + data[: data.index(0)].count(10)}: a null byte")
        text = python_source.decode(data) if language == "python" else data.decode("utf-8-sig")
        if language is None:
            raise _Unread("no reader for this kind of file")
        found = _READERS[language](text, target)
    except _Unread as error:
        return _facts(language, "unread", str(error), _capabilities(source, target))
    except UnicodeError as error:
        return _facts(language, "error", f"not UTF-8: {error}", {UNREADABLE})
    except (_Faulty, python_source.Unreadable) as error:
        return _facts(language, "error", str(error), {UNREADABLE})
    except (RecursionError, MemoryError):
        return _facts(language, "error", "nested too deeply", {UNREADABLE})
    capabilities = detect(target, language, text, None)
    return _facts(language, "ok", None, capabilities, found)


def _facts(
    language: Language | None,
    syntax: Literal["ok", "error", "unread"],
    error: str | None,
    capabilities: set[str],
    found: Found | None = None,
) -> StaticFacts:
    found = found or Found()
    return StaticFacts(
        language=language,
        syntax=syntax,
        error=None if error is None else visible(error, limit=_MAX_SHOWN),
        imports=_listed(found.imports),
        calls=_listed(found.calls),
        unresolved=_unresolved(found),
        capabilities=sorted(capabilities),
    )


def _listed(names: set[str]) -> list[str]:
    return [visible(name, limit=_MAX_SHOWN) for name in sorted(names)]


def _unresolved(found: Found) -> list[str]:
    lines = [
        f"line {line}: {visible(why, limit=_MAX_SHOWN)}" for line, why in sorted(found.unresolved)
    ]
    more = len(lines) - _MAX_LISTED
    return lines if more <= 0 else [*lines[:_MAX_LISTED], f"and {more} more"]


def _capabilities(source: bytes | str, target: str) -> set[str]:
    text = source if isinstance(source, str) else source.decode("utf-8-sig")
    return detect(target, detect_language(target, b""), text, None)


def _python(text: str, target: str) -> Found:
    if sum(1 for _ in _TOKEN.finditer(text)) > _MAX_TOKENS:
        raise _Faulty(f"more than {_MAX_TOKENS} words and signs")
    return static_python.read(text, frozenset(_own_names(target)))


def _own_names(target: str) -> Iterator[str]:
    """The names by which a module at this path would import itself, from any folder above it and relatively."""
    parts = PurePosixPath(target).with_suffix("").parts
    for count in range(1, len(parts) + 1):
        name = ".".join(parts[-count:])
        yield f"{'.' * count}{name}"
        if not is_standard(name):
            yield name


def _json(text: str, target: str) -> Found:
    try:
        strict_json.loads(text.encode(), file=target)
    except ContractError as error:
        raise _Faulty(error.message) from error
    return Found()


def _yaml(text: str, target: str) -> Found:
    if len(text) > MAX_YAML_CHARACTERS:
        raise _Faulty(f"larger than {MAX_YAML_CHARACTERS} characters")
    if _open_brackets(text) > _MAX_BRACKETS:
        raise _Faulty("nested too deeply")
    try:
        strict_yaml.loads(text.encode(), file=target)
    except ContractError as error:
        raise _Faulty(error.message) from error
    return Found()


def _open_brackets(text: str) -> int:
    """The most brackets that are open at once: PyYAML takes their square in time, before it refuses them."""
    most = depth = 0
    for sign in _BRACKET.findall(text):
        depth = depth + 1 if sign in "[{" else max(0, depth - 1)
        most = max(most, depth)
    return most


def _rego(text: str, target: str) -> Found:
    from tipstaff.pdp import opa, source, syntax

    try:
        program = opa.find()
    except Error as error:
        raise _Unread(error.message) from error
    if program is None:
        raise _Unread("no OPA is at hand to read Rego")
    with tempfile.TemporaryDirectory(prefix="tipstaff-") as folder:
        Path(folder, "source.rego").write_text(text, encoding="utf-8")
        try:
            source.demand_readable(Path(folder))
            syntax.parse(program, Path(folder), "source.rego", shown=target)
        except Error as error:
            raise _Faulty(error.message) from error
    return Found()


_READERS: dict[str, Callable[[str, str], Found]] = {
    "python": _python,
    "json": _json,
    "yaml": _yaml,
    "rego": _rego,
}
