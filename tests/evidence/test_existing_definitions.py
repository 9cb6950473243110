"""What touches an existing definition, and what leaves every one of them alone."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tipstaff.evidence.definitions import touches_existing

BASE = '''"""A module."""
import os
from app import registry

LIMIT = 3
items = []


class Tool:
    name = "x"

    def run(self):
        return LIMIT


def helper(value):
    return value + offset


def main():
    return print(helper(1))
'''
UNTOUCHED = [
    "def extra():\n    return helper(2)\n",
    "async def extra():\n    return 1\n",
    "class Extra(Tool):\n    def run(self):\n        self.x = 1\n        return super().run()\n",
    "NEW = 4\n",
    "NEW: int = 4\n",
    "NEW, OTHER = 1, 2\n",
    "import json\n",
    "from json import loads as read_json\n",
    "# a comment about helper\n",
    "NEW = [helper, Tool]\n",
    "NEW = Tool()\n",
    "import re\nNEW = re.compile('x')\n",
    "def extra(rows):\n    result = {}\n    for row in rows:\n        result[row] = 1\n    return result\n",
    "def extra():\n    LIMIT = 4\n    return LIMIT\n",
    "import functools\n@functools.cache\ndef extra():\n    return 1\n",
    "if os.name == 'nt':\n    NEW = 1\nelse:\n    NEW = 2\n",
    "try:\n    import json\nexcept ImportError:\n    json = None\n",
    "class Extra:\n    helper = 1\n    LIMIT = 2\n",
    "NEW = {}\nNEW['a'] = 1\n",
    "NEW = [x for x in range(3)]\n",
]
TOUCHED = [
    "def helper(value):\n    return value\n",
    "class Tool:\n    pass\n",
    "LIMIT = 4\n",
    "LIMIT += 1\n",
    "LIMIT: int = 4\n",
    "(LIMIT := 4)\n",
    "for LIMIT in (1, 2):\n    pass\n",
    "with open('x') as LIMIT:\n    pass\n",
    "[LIMIT for x in (1,) if (LIMIT := x)]\n",
    "try:\n    pass\nexcept OSError as helper:\n    pass\n",
    "match 1:\n    case helper:\n        pass\n",
    "match [1]:\n    case [*helper]:\n        pass\n",
    "match {}:\n    case {**helper}:\n        pass\n",
    "if True:\n    def helper(value):\n        return 0\n",
    "import json as helper\n",
    "from json import loads as helper\n",
    "from json import *\n",
    "from app import registry\n",
    "import os.path\n",
    "from __future__ import annotations\n",
    "del LIMIT\n",
    "del Tool.run\n",
    "Tool.run = None\n",
    "Tool.name: str = 'y'\n",
    "Tool.name += 'y'\n",
    "setattr(Tool, 'run', None)\n",
    "delattr(Tool, 'run')\n",
    "globals()['helper'] = None\n",
    "globals().update(helper=None)\n",
    "vars(Tool)['run'] = 1\n",
    "Tool.__dict__['run'] = 1\n",
    "import sys\nsys.modules['app'] = None\n",
    "os.environ['A'] = '1'\n",
    "import json\njson.loads = None\n",
    "registry.tool = None\n",
    "items[0] = 1\n",
    "exec('LIMIT = 4')\n",
    "def extra():\n    global LIMIT\n    LIMIT = 4\n",
    "def extra():\n    Tool.run = None\n",
    "def extra(tool=Tool):\n    other = Tool\n    other.run = None\n",
    "class Extra:\n    Tool.run = None\n",
    "NEW = Tool\nNEW.run = None\n",
    "def print(*values):\n    pass\n",
    "offset = 3\n",
    "__all__ = ['main']\n",
    "def __getattr__(name):\n    return 1\n",
    "raise SystemExit\n",
    "@items.register\ndef extra():\n    pass\n",
    "helper.__code__ = None\n",
    "lambda: setattr(Tool, 'run', 1)\n",
]
UNTOLD = [
    "main()\n",
    "NEW = main()\n",
    "NEW = helper(Tool)\n",
    "items.append(1)\n",
    "import json\njson.patch(Tool)\n",
    "import sys\nsys.exit(0)\n",
    "@helper\ndef extra():\n    pass\n",
    "while True:\n    pass\n",
    "assert False\n",
    "def extra(monkeypatch):\n    monkeypatch.setattr(os, 'getcwd', None)\n",
    "NEW = {'a': Tool}\nNEW['a'].run = None\n",
    "import app2\nNEW = app2.thing()\nNEW.x = 1\n",
]


def judge(added: str, *, before: str = BASE, at: int | None = None) -> bool | None:
    lines = before.split("\n")
    place = len(lines) - 1 if at is None else at
    after = "\n".join([*lines[:place], *added.rstrip("\n").split("\n"), *lines[place:]])
    return touches_existing("python", before.encode(), after.encode(), additions_only=True)


@pytest.mark.parametrize("added", UNTOUCHED)
def test_addition_beside_existing_code_touches_nothing(added: str) -> None:
    assert judge(added) is False


@pytest.mark.parametrize("added", TOUCHED)
def test_addition_that_rebinds_is_a_touch(added: str) -> None:
    assert judge(added) is True


@pytest.mark.parametrize("added", UNTOLD)
def test_addition_whose_effect_cannot_be_told_is_none(added: str) -> None:
    assert judge(added) is None


@pytest.mark.parametrize(
    ("added", "line"),
    [
        ('    extra = "member"', 9),
        ("    def extra(self): ...", 13),
        ("@os.wraps", 14),
        ("    value = 0", 15),
        ("    global LIMIT", 15),
        ("'''", 14),
        ('"""Another docstring."""', 0),
    ],
)
def test_addition_inside_an_existing_definition_is_a_touch(added: str, line: int) -> None:
    assert judge(added, at=line) in (True, None)
    assert judge(added, at=line) is not False


def test_quotes_around_existing_code_are_a_touch() -> None:
    before, after = "x = 1\ndef f(): ...\n", "x = 1\n'''\ndef f(): ...\n'''\n"
    judged = touches_existing("python", before.encode(), after.encode(), additions_only=True)
    assert judged is True


def test_comment_inside_an_existing_function_touches_nothing() -> None:
    assert judge("    # why", at=15) is False


def test_names_beside_a_star_import_cannot_be_told() -> None:
    assert judge("def extra(): ...", before="from app import *\n") is None
    assert judge("# comment", before="from app import *\n") is False


@pytest.mark.parametrize(
    "after",
    [b"def f(:", b"x = 1\0", b"# coding: utf-7\nx = 1", b"\xff", b"(" * 500, b"-" * 90_000 + b"1"],
)
def test_python_that_cannot_be_read_is_none(after: bytes) -> None:
    assert touches_existing("python", b"x = 1\n", after, additions_only=True) is None


def test_python_with_a_removed_line_is_a_touch() -> None:
    assert touches_existing("python", b"x = 1\n", b"y = 1\n", additions_only=False) is True


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ("a: 1\n", "a: 1\nb: 2\n", False),
        ("a: 1\n", "# why\na: 1\n", False),
        ("a: {b: 1}\n", "a: {b: 1, c: [2]}\n", False),
        ("a: 1\n", "a: 2\n", True),
        ("a: 1\n", "a: '1'\n", True),
        ("a: [1]\n", "a: [1, 2]\n", True),
        ("a: 1\n", "b: 1\n", True),
        ("a: 1\n", "a: 1\na: 1\n", None),
        ("a: 1\n", "a: 1\nb: &x 1\nc: *x\n", None),
        ("a: 1\n", "a: 1\n<<: {b: 1}\n", None),
        ("a: 1\n", "a: 1\n---\nb: 1\n", None),
        ("a: 1\n", "a: 1\nb: !!python/object/apply:os.system [x]\n", None),
        ("a: 1\n", "a: 1\nb: !x 1\n", None),
        ("a: 1\n", "a: 1\n1: x\ntrue: y\n", None),
        ("a: 1\n", "a: 1\n[1, 2]: x\n", None),
        ("a: 1\n", "a: [\n", None),
        ("a: 1\n", "a: " + "[" * 5000 + "\n", None),
        ("a: 1\n", "a: 1\nb: 2020-99-99\n", None),
    ],
)
def test_yaml_is_touched_by_anything_but_new_keys(
    before: str, after: str, expected: bool | None
) -> None:
    judged = touches_existing("yaml", before.encode(), after.encode(), additions_only=True)
    assert judged is expected


@pytest.mark.parametrize(
    ("language", "additions_only", "expected"),
    [
        ("markdown", True, False),
        ("markdown", False, True),
        ("text", True, False),
        ("javascript", True, None),
        (None, True, None),
    ],
)
def test_other_languages_follow_their_lines_or_stay_untold(
    language: str | None, additions_only: bool, expected: bool | None
) -> None:
    assert touches_existing(language, b"a", b"a\nb", additions_only=additions_only) is expected
    assert touches_existing(language, b"a", b"a", additions_only=False) is False


_values = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from([0.5, 1.0, "", "1", "__x"]),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(st.sampled_from(["a", "b", "__a", "'\"]["]), inner, max_size=3)
    ),
    max_leaves=6,
)


def _only_gains_keys(before: Any, after: Any) -> bool:
    if isinstance(before, dict) and isinstance(after, dict):
        return all(key in after and _only_gains_keys(before[key], after[key]) for key in before)
    return json.dumps(before, sort_keys=True) == json.dumps(after, sort_keys=True)


@settings(deadline=None)
@example({}, {"a": None, "b": None})
@example({"a": {"b": 1}}, {"a": {"b": 1, "c": 2, "d": 3, "e": 4, "f": 5}})
@example([False, False], [False, 0])
@example({"a": [{"b": 1}]}, {"a": [{"b": 1, "c": 1}]})
@given(_values, _values)
def test_json_verdict_agrees_with_a_plain_recursion(before: Any, after: Any) -> None:
    one, two = json.dumps(before).encode(), json.dumps(after).encode()
    judged = touches_existing("json", one, two, additions_only=True)
    assert judged is (not _only_gains_keys(before, after))
