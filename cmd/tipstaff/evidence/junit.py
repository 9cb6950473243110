"""Reading a JUnit XML report that untrusted code wrote: counts only, and nothing where it is not clearly one."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

_DECLARATION = re.compile(r"\s*<\?xml[^>]*?encoding\s*=\s*[\"']([\w.-]+)[\"']")
_ENCODINGS = frozenset({"utf-8", "utf8", "us-ascii", "ascii"})


@dataclass(frozen=True)
class Counts:
    """How many test cases passed, failed (errors included) and were skipped."""

    passed: int
    failed: int
    skipped: int


def count(data: bytes) -> Counts | None:
    """The counts of a report; None for one that is empty, has no test case, or cannot be trusted to be one."""
    text = _plain(data)
    if text is None:
        return None
    import junitparser

    try:
        report = junitparser.JUnitXml.fromstring(text.encode("utf-8"))
        read = junitparser.TestCase.fromelem
        cases = [read(item) for item in report._elem.iter("testcase")]  # type: ignore[no-untyped-call]
        results = [{type(result) for result in case.result} for case in cases]
        claimed = [_claimed(suite) for suite in report._elem.iter("testsuite")]
    except (SyntaxError, junitparser.JUnitXmlError, ValueError, TypeError, AttributeError):
        return None
    if not cases:
        return None
    bad = {junitparser.Failure, junitparser.Error}
    failed = sum(bool(bad & kinds) for kinds in results)
    skipped = sum(not bad & kinds and junitparser.Skipped in kinds for kinds in results)
    passed = len(cases) - failed - skipped
    return Counts(passed, max(failed, *claimed, 0), skipped)


def _claimed(suite: Element) -> int:
    """The failures and errors that a suite's own attributes count; some runners list no case for an error."""
    return sum(int(suite.get(name) or 0) for name in ("failures", "errors"))


def _plain(data: bytes) -> str | None:
    """The report as text, if it is UTF-8 and declares no document type or entity."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        return None
    declared = _DECLARATION.match(text.removeprefix("\ufeff"))
    if declared and declared[1].lower() not in _ENCODINGS:
        return None
    if re.search(r"<!(?:DOCTYPE|ENTITY|ELEMENT|ATTLIST)", text, re.I):
        return None
    return text
