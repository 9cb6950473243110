"""What the static gate makes of each language, of sources nobody meant to be read, and of large ones."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from tipstaff.evidence.static_gate import MAX_BYTES, examine

CORPUS = Path(__file__).parent / "static_gate"
NAMES = "\n".join(f"from strange import f{n}\nname = f{n}" for n in range(250))
TOO_LARGE = {
    "100 MB": "x" * (100 << 20),
    "a byte too many": "#" * (MAX_BYTES + 1),
    "a million tokens": "a;" * 500_000,
    "more words than are read": "a\n" * 210_000,
}
TOO_DEEP = {
    "brackets": "(" * 100_000,
    "signs": "-" * 100_000 + "1",
    "nots": "not " * 100_000 + "1",
    "attributes": "a" + ".b" * 100_000,
    "calls": "a" + "()" * 50_000,
    "sums": "1" + " + 1" * 50_000,
    "items": "a" + "[0]" * 50_000,
    "attributes that the parser takes": "a" + ".b" * 900,
    "texts that the parser takes": "x = 'a'" + " + 'a'" * 900,
    "lambdas": "x = " + "lambda: " * 50_000 + "1",
    "branches": "if a:\n pass\n" + "elif a:\n pass\n" * 20_000,
    "an f-string": "f'" + "{" * 10_000,
}


def test_source_is_read_by_the_suffix_of_its_target() -> None:
    facts = examine(b"import json\njson.loads('1')\n", "harness/f.py")
    assert facts.model_dump() == {
        "language": "python",
        "syntax": "ok",
        "error": None,
        "imports": ["json"],
        "calls": ["json.loads"],
        "unresolved": [],
        "capabilities": [],
    }


@pytest.mark.parametrize("source", ["import os\nos.system('x')\n", b"import os\nos.system('x')\n"])
def test_text_and_bytes_have_the_same_facts(source: str | bytes) -> None:
    facts = examine(source, "f.py")
    assert (facts.imports, facts.calls) == (["os"], ["os.system"])
    assert facts.capabilities == ["raw_shell_execution"]


def test_declared_encoding_counts_in_text_too() -> None:
    assert examine("# coding: utf-7\nx = '+AGE-'\n", "f.py").syntax == "error"


@pytest.mark.parametrize("target", ["f.txt", "f.sh", "f", "Makefile", "f.js", "f.py.orig"])
def test_language_without_a_reader_is_unread(target: str) -> None:
    facts = examine(b"eval('1')", target)
    assert (facts.language, facts.syntax) == (None, "unread")
    assert facts.imports == facts.calls == facts.unresolved == []


def test_source_without_a_reader_still_shows_capabilities() -> None:
    assert "raw_shell_execution" in examine(b"rm -rf /tmp/x\n", "f.sh").capabilities
    assert examine(b"\xff\xfe", "f.txt").syntax == "error"


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("def f(x:\n", "line 1: '(' was never closed"),
        ("x = 1\nreturn x\n", "line 2: 'return' outside function"),
        ("x = 1\n  y = 2\n", "line 2: unexpected indent"),
        ("x = 1\n\n\0", "line 3: a null byte"),
        ("print 'a'\n", "line 1: Missing parentheses in call to 'print'. Did you mean print(...)?"),
        ("x = '\ud800'", "not UTF-8"),
        ("# coding: utf-16\n", "declares the encoding utf-16"),
    ],
)
def test_faulty_python_is_an_error_that_says_where(source: str, said: str) -> None:
    facts = examine(source, "f.py")
    assert facts.syntax == "error"
    assert said in str(facts.error)
    assert facts.capabilities == ["unreadable_code"]


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ('{"a": 1, "a": 2}', "twice"),
        ('{"a": NaN}', "NaN"),
        ('{"a": 1}\n{"b": 2}', "Extra data at line 2"),
        ('{\n"a": }', "line 2"),
        ('{"a": 1e999}', ""),
        ("[" * 100_000, ""),
        ("", "line 1"),
    ],
)
def test_faulty_json_is_an_error(source: str, said: str) -> None:
    facts = examine(source, "f.json")
    assert (facts.language, facts.syntax) == ("json", "error")
    assert said in str(facts.error)


@pytest.mark.parametrize(
    "source",
    [
        "a: 1\na: 2\n",
        "a: &x 1\nb: *x\n",
        "a: !!python/object/apply:os.system [id]\n",
        "a: 1\n---\nb: 2\n",
        "a: [1\n",
        "\t- a\n",
        "[" * 200_000,
        "{a: " * 40_000,
        "- " * 2_000 + "a",
        "a: 1\n" * 60_000,
    ],
)
def test_faulty_yaml_is_an_error(source: str) -> None:
    facts = examine(source, "f.yml")
    assert (facts.language, facts.syntax) == ("yaml", "error")
    assert facts.error


def test_sound_data_is_read() -> None:
    assert examine('{"a": [1, null]}', "f.json").syntax == "ok"
    assert examine("a:\n  - on\n  - 'x'\n", "f.yaml").syntax == "ok"


def test_rego_is_read_by_opa() -> None:
    facts = examine("package a\n\ndefault allow := false\n\nallow if input.x == 1\n", "f.rego")
    assert (facts.language, facts.syntax, facts.error) == ("rego", "ok", None)
    faulty = examine("package a\n\nallow if {\n", "f.rego")
    assert faulty.syntax == "error"
    assert "rego_parse_error" in str(faulty.error)


@pytest.mark.parametrize(
    "source", ["package a\nx := " + "[" * 5_000 + "]" * 5_000, "package a\n{" * 300]
)
def test_rego_that_opa_would_not_get_through_is_an_error(source: str) -> None:
    facts = examine(source, "f.rego")
    assert facts.syntax == "error"
    assert "nested deeper" in str(facts.error)


@pytest.mark.parametrize(
    ("source", "is_itself"),
    [
        ("import f", True),
        ("import harness.f", True),
        ("from . import f", True),
        ("from .f import x", True),
        ("from ..harness import f", True),
        ("from .. import f", False),
        ("from ..other import f", False),
        ("import other.f", False),
    ],
)
def test_module_that_imports_itself_is_unresolved(source: str, is_itself: bool) -> None:
    assert bool(examine(source, "harness/f.py").unresolved) == is_itself


def test_module_named_like_one_of_the_library_may_import_that() -> None:
    assert examine("import json", "harness/json.py").unresolved == []


def test_rego_is_unread_where_there_is_no_opa(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIPSTAFF_OPA", "/nonexistent/opa")
    facts = examine("package a\n", "f.rego")
    assert (facts.language, facts.syntax) == ("rego", "unread")
    assert facts.error


@pytest.mark.parametrize("case", TOO_LARGE)
def test_source_that_is_too_large_is_an_error(case: str) -> None:
    for target in ("f.py", "f.json", "f.yaml", "f.rego"):
        if target == "f.py" or len(TOO_LARGE[case]) > MAX_BYTES:
            facts = examine(TOO_LARGE[case], target)
            assert facts.syntax == "error"
            assert facts.imports == facts.calls == facts.unresolved == []


@pytest.mark.parametrize("case", TOO_DEEP)
def test_source_that_is_too_deep_is_an_error(case: str) -> None:
    assert examine(TOO_DEEP[case], "f.py").syntax == "error"


@pytest.mark.parametrize(
    "source",
    [
        f"{NAMES}\n" + "name.attribute\n" * 2_500,
        "\n".join(f"from strange{n} import *" for n in range(1_000))
        + "\n"
        + "\n".join(f"name{n}()" for n in range(500)),
    ],
)
def test_names_too_tangled_to_follow_are_unresolved(source: str) -> None:
    facts = examine(source, "f.py")
    assert facts.unresolved == ["line 1: the names are too tangled to follow"]


def test_unresolved_lines_are_counted_where_there_are_too_many() -> None:
    facts = examine("import sys\n" + "sys.modules\n" * 3_000, "f.py")
    assert len(facts.unresolved) == 2_001
    assert facts.unresolved[-1] == "and 1000 more"


def test_hidden_characters_of_a_source_are_escaped_in_its_facts() -> None:
    facts = examine("import a\u0301b\ngetattr(x, '\u202e')\n", "f.py")
    shown = "".join([*facts.imports, *facts.calls, *facts.unresolved])
    assert "\u202e" not in shown


@pytest.mark.parametrize(
    "lines", [pytest.param(4_000), pytest.param(10_000, marks=pytest.mark.nightly)]
)
def test_large_module_is_read_in_time_that_grows_with_it(
    record_property: pytest.RecordProperty, lines: int
) -> None:
    texts = [path.read_text() for path in sorted((CORPUS / "innocent").glob("*.txt"))]
    parts = [text for text in texts if "__future__" not in text and "import *" not in text]
    small = _module(parts, lines // 8)
    large = _module(parts, lines)
    spent = {}
    for name, text in (("small", small), ("large", large)):
        start = time.process_time()
        facts = examine(text, "f.py")
        spent[name] = time.process_time() - start
        assert (facts.syntax, facts.unresolved) == ("ok", [])
    record_property(
        "static_gate_speed", f"{large.count(chr(10))} lines in {spent['large']:.2f} s of CPU"
    )
    # Eight times as much; were it quadratic, it would take 64 times as long.
    assert spent["large"] < 24 * spent["small"] + 1


def _module(parts: list[str], lines: int) -> str:
    """Functions around the texts of the corpus, one after another."""
    made: list[str] = []
    count = 0
    while count < lines:
        body = parts[len(made) % len(parts)].splitlines()
        made.append(
            f"def part_{len(made)}():\n"
            + "".join(f"    {line}\n" if line else "\n" for line in body)
        )
        count += len(body) + 1
    return "".join(made)
