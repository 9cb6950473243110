"""The static gate held against random sources, against Python's own compiler, and against random detours."""

from __future__ import annotations

import ast
import dis
import sysconfig
import warnings
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from types import CodeType

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tipstaff.evidence import python_source
from tipstaff.evidence.python_scopes import Scopes
from tipstaff.evidence.static_gate import examine

LIBRARY = Path(sysconfig.get_path("stdlib"))
CORPUS = Path(__file__).parent / "static_gate"
READ = """
argparse ast asyncio/tasks asyncio/base_events bdb bisect calendar cmd codecs collections/__init__ configparser
contextlib copy csv dataclasses decimal difflib dis doctest enum functools inspect json/decoder logging/__init__
pathlib pdb pickle random re/_parser shutil statistics string subprocess tempfile textwrap threading traceback typing
unittest/mock weakref zipfile
""".split()
_SLOW = settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow])

_words = st.sampled_from(
    """
    import from as def class return lambda yield await async for in if else elif while with try except finally match
    case del global nonlocal not and or is None True pass raise assert * ** @ ( ) [ ] { } : ; , . := = += == -> | &
    os sys eval exec getattr __builtins__ __class__ x y z self 1 "a" 'os' f"{x}" b"\\xff" # \\
    \n \n\t \n\x20\x20 \x0c \r
    """.split(" ")
)
_headers = st.lists(
    st.sampled_from(
        [
            *(b"\xef\xbb\xbf", b"\r", b"\n", b"\r\n", b"\x0c", b" ", b"\t", b"#", b"# ", b"x=1"),
            *(b"coding: utf-8", b"coding=utf-7", b"coding: latin-1", b"-*- coding: utf8 -*-"),
            *(b"#!/usr/bin/python", b"\\\n", b'"""', b"coding: utf-8-sig", b"coding: ascii"),
        ]
    ),
    max_size=8,
).map(b"".join)


@_SLOW
@given(st.lists(_words, max_size=60).map(" ".join), st.sampled_from(["f.py", "f.json", "f.yaml"]))
def test_random_words_always_have_an_answer(source: str, target: str) -> None:
    facts = examine(source, target)
    assert facts.syntax in ("ok", "error")
    assert (facts.error is None) == (facts.syntax == "ok")


@_SLOW
@given(st.binary(max_size=200) | st.text(max_size=200), st.text(max_size=12))
def test_random_bytes_for_a_random_target_always_have_an_answer(
    source: bytes | str, target: str
) -> None:
    assert examine(source, f"{target}a.py").language == "python"
    examine(source, target)


@_SLOW
@given(_headers)
def test_source_is_read_as_python_would_read_it(header: bytes) -> None:
    data = header + b"\nx = '+AGUAdg-\xc3\xa9'\n"
    facts = examine(data, "f.py")
    if facts.syntax == "ok":
        read = python_source.parse(python_source.decode(data))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            assert ast.dump(read) == ast.dump(ast.parse(data))


def _detour(draw: st.DrawFn, name: str, number: int) -> tuple[str, str]:
    """A statement that gives what a name stands for another name, and that name."""
    new = f"n{number}"
    form = draw(
        st.sampled_from(
            [
                "{new} = {name}",
                "{new}: object = {name}",
                "({new} := {name})",
                "{new} = {name} if input() else {name}",
                "{new} = None or {name}",
                "if input():\n    {new} = {name}\nelse:\n    {new} = None",
                "def f{number}():\n    global {new}\n    {new} = {name}\nf{number}()",
                "{new} = {new}_ = {name}",
                "try:\n    {new} = {name}\nfinally:\n    pass",
                "for _ in range(1):\n    {new} = {name}",
            ]
        )
    )
    return form.format(new=new, name=name, number=number), new


@st.composite
def _detours(draw: st.DrawFn) -> str:
    start, name = draw(
        st.sampled_from(
            [
                ("import os as n", "n"),
                ("import os\nn = os", "n"),
                ("n = __import__('os')", "n"),
                ("import logging\nn = logging.os", "n"),
                ("from shutil import os as n", "n"),
                ("import importlib\nn = importlib.import_module('o' + 's')", "n"),
                ("def g():\n    global n\n    import os as n\ng()", "n"),
            ]
        )
    )
    lines = [start]
    for number in range(draw(st.integers(0, 10))):
        line, name = _detour(draw, name, number)
        lines.append(line)
    use = draw(
        st.sampled_from(
            [
                "{name}.system('id')",
                "getattr({name}, 'sys' + 'tem')('id')",
                "{name}.__dict__['system']('id')",
                "vars({name})['system']('id')",
                "f'{{{name}.system(1)}}'",
                "def last(run={name}.system):\n    run('id')",
                "[{name}.system for _ in '1']",
                "class C({name}.system):\n    pass",
                "@{name}.system\ndef last():\n    pass",
                "{name}.path.os.system('id')",
            ]
        )
    )
    return "\n".join([*lines, use.format(name=name)])


@settings(_SLOW, max_examples=150)
@given(_detours())
def test_function_is_found_behind_any_detour(source: str) -> None:
    facts = examine(source, "f.py")
    assert facts.syntax == "ok", facts.error
    assert "os.system" in facts.calls, source
    assert "os" in facts.imports, source


@pytest.mark.parametrize("name", READ)
def test_local_names_are_those_of_pythons_compiler(name: str) -> None:
    _demand_scopes_of_the_compiler((LIBRARY / f"{name}.py").read_text(encoding="utf-8"))


@pytest.mark.parametrize("path", sorted((CORPUS / "innocent").glob("*.txt")), ids=lambda p: p.stem)
def test_local_names_of_the_corpus_are_those_of_pythons_compiler(path: Path) -> None:
    _demand_scopes_of_the_compiler(path.read_text(encoding="utf-8"))


def _demand_scopes_of_the_compiler(text: str) -> None:
    """The compiler takes names with ``@``: those, and only those, must be local to it."""
    renamed = ast.parse(text)
    Scopes(renamed)
    before, after = _names(_compiled(ast.parse(text))), _names(_compiled(renamed))
    assert Counter(n for n in before if n[0] == "module") == Counter(
        n for n in after if n[0] == "module"
    )
    assert not any("@" in name for kind, name in after if kind == "module")
    kept = {"__class__", ".0", *_imported(renamed)}
    assert {name for kind, name in after if kind == "local" and "@" not in name} <= kept


def _compiled(tree: ast.Module) -> CodeType:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return compile(tree, "x", "exec", dont_inherit=True)


def _imported(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name.split(".")[0] for alias in node.names if not alias.asname)


def _names(code: CodeType) -> Iterator[tuple[str, str]]:
    """The names that code loads, stores and deletes: in its module or builtins, or local to a function."""
    for step in dis.get_instructions(code):
        if step.opname.endswith(("_GLOBAL", "_NAME")) and step.opname != "IMPORT_NAME":
            yield "module", str(step.argval)
        elif "FAST" in step.opname or "DEREF" in step.opname:
            found = step.argval if isinstance(step.argval, tuple) else (step.argval,)
            yield from (("local", str(name)) for name in found)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)
