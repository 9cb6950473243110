"""JUnit XML of Rego tests, as CI services read it."""

from __future__ import annotations

import io
import itertools
from collections.abc import Iterable, Sequence
from typing import Any

from tipstaff.documents.text import visible

_NANOSECONDS = 1e9


def report(results: Sequence[dict[str, Any]]) -> str:
    """What `opa test --format json` told: a suite a package, a case a test; a failure names file and line."""
    from junitparser import JUnitXml, TestSuite

    whole = JUnitXml("opa test")
    by_package = sorted(results, key=lambda result: str(result["package"]))
    for package, group in itertools.groupby(by_package, lambda result: str(result["package"])):
        suite = TestSuite(visible(package))
        suite.add_testcases(_cases(group))
        whole.add_testsuite(suite)
    whole.update_statistics()  # type: ignore[no-untyped-call]
    text = io.BytesIO()
    whole.write(text)
    return text.getvalue().decode()


def _cases(results: Iterable[dict[str, Any]]) -> list[Any]:
    from junitparser import Error, Failure, Skipped, TestCase

    cases = []
    for result in results:
        case = TestCase(visible(result["name"]), visible(result["package"]))
        case.time = result.get("duration", 0) / _NANOSECONDS
        place = f"{result['location']['file']}:{result['location']['row']}"
        case._elem.set("file", visible(result["location"]["file"]))
        case._elem.set("line", str(result["location"]["row"]))
        if result.get("error"):
            case.result = [Error(visible(f"{place}: {result['error']}"))]
        elif result.get("fail"):
            case.result = [Failure(f"{visible(place)}: the test does not hold")]
        elif result.get("skip"):
            case.result = [Skipped("the test is yet to be written")]
        cases.append(case)
    return cases
