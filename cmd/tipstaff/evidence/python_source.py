"""Reading Python source without running it."""

from __future__ import annotations

import ast
import codecs
import io
import tokenize
import warnings

MAX_CHARACTERS = 512 << 10


class Unreadable(Exception):
    """The text cannot be read as Python, or not with certainty."""


def decode(data: bytes) -> str:
    """The text of a source file; only UTF-8 is read, since other encodings can hide code from a reader.

    Raises ``Unreadable``.
    """
    # A lone carriage return ends a line for Python, and so may put a declaration on the first or second one.
    lines = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(lines).readline)
        text = data.decode("utf-8-sig")
    except (SyntaxError, UnicodeDecodeError) as error:
        raise Unreadable("not UTF-8") from error
    if codecs.lookup(encoding).name not in ("utf-8", "utf-8-sig"):
        raise Unreadable(f"declares the encoding {encoding}")
    return text


def parse(text: str) -> ast.Module:
    """The syntax tree of a module; raises ``Unreadable`` for what Python 3 would not compile, or is too large."""
    if len(text) > MAX_CHARACTERS:
        raise Unreadable("too large")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return ast.parse(text)
        except SyntaxError as error:
            raise Unreadable(f"line {error.lineno or 1}: {error.msg}") from error
        except ValueError as error:
            raise Unreadable(str(error)) from error
        except (RecursionError, MemoryError) as error:
            raise Unreadable("nested too deeply") from error


def walk(tree: ast.AST) -> tuple[list[ast.AST], dict[int, ast.AST]]:
    """Every node, broad before deep as ``ast.walk`` has them, and the parent of each by its id.

    Left out are contexts and operators.
    """
    nodes = [tree]
    parents: dict[int, ast.AST] = {}
    fields: dict[type[ast.AST], list[str]] = {}
    for node in nodes:
        kind = type(node)
        if kind not in fields:
            # Contexts and operators hold nothing, and are one object wherever they stand.
            fields[kind] = [name for name in kind._fields if name not in ("ctx", "op", "ops")]
        for name in fields[kind]:
            value = getattr(node, name, None)
            for child in value if isinstance(value, list) else (value,):
                if isinstance(child, ast.AST):
                    parents[id(child)] = node
                    nodes.append(child)
    return nodes, parents
