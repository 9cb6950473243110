"""What the static gate sees in sources that hide what they do, and in sources that do not.

Each evasion says, in comments, what must be among its facts: names in ``calls`` or ``imports`` (``a|b`` where either
will do), a part of a line of ``unresolved``, or the syntax ``error``.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tipstaff.documents.modification_facts import StaticFacts
from tipstaff.evidence.static_gate import examine

CORPUS = Path(__file__).parent / "static_gate"
EVASIONS = sorted((CORPUS / "evasions").glob("*.txt"))
INNOCENT = sorted((CORPUS / "innocent").glob("*.txt"))
_EXPECTED = re.compile(rb"# expect (calls|imports|unresolved|syntax): ([^\r\n]+)")
DANGEROUS = {
    *("eval", "exec", "compile", "__import__", "breakpoint", "help", "globals", "locals"),
    *("os.system", "os.popen", "os._exit", "importlib.import_module", "pkgutil.resolve_name"),
}
DANGEROUS_BELOW = ("subprocess.", "ctypes.", "pickle.load", "marshal.load", "os.exec", "os.spawn")


def missed(facts: StaticFacts, data: bytes) -> list[str]:
    """What an evasion is expected to show and does not."""
    found = _EXPECTED.findall(data.replace(b"\0", b""))
    assert found, "an evasion says what is to be seen in it"
    expected = [
        (kind.decode(), part) for kind, parts in found for part in parts.decode().split(",")
    ]
    return [f"{kind}: {part}" for kind, part in expected if not _shows(facts, kind, part)]


def _shows(facts: StaticFacts, kind: str, part: str) -> bool:
    if kind == "syntax":
        return facts.syntax == part
    shown: list[str] = getattr(facts, kind)
    ways = part.strip().split("|")
    if kind == "unresolved":
        return any(way in line for way in ways for line in shown)
    return any(way in shown for way in ways)


@pytest.mark.parametrize("path", EVASIONS, ids=lambda path: path.stem)
def test_evasion_shows_what_it_does(path: Path) -> None:
    data = path.read_bytes()
    assert missed(examine(data, "harness/f.py"), data) == []


@pytest.mark.parametrize("path", INNOCENT, ids=lambda path: path.stem)
def test_innocent_file_shows_nothing_to_fear(path: Path) -> None:
    facts = examine(path.read_bytes(), "harness/f.py")
    assert (facts.syntax, facts.error, facts.unresolved) == ("ok", None, [])
    feared = [name for name in facts.calls if name in DANGEROUS or name.startswith(DANGEROUS_BELOW)]
    assert feared == []


def test_corpus_is_as_large_as_promised(record_property: pytest.RecordProperty) -> None:
    seen = sum(
        not missed(examine(path.read_bytes(), "f.py"), path.read_bytes()) for path in EVASIONS
    )
    score = f"{seen} of {len(EVASIONS)} evasions seen through, {len(INNOCENT)} innocent files"
    record_property("static_gate", score)
    print(score)
    assert seen == len(EVASIONS) >= 100
    assert len(INNOCENT) >= 40
