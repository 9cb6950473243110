"""Reports as untrusted code writes them."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tipstaff.evidence.junit import Counts, count

FRAGMENTS = st.sampled_from(
    [
        *(
            "<testsuites>",
            "</testsuites>",
            "<testsuite>",
            "</testsuite>",
            '<testsuite failures="x">',
        ),
        *(
            "<testcase/>",
            "<testcase>",
            "</testcase>",
            "<failure/>",
            "<skipped/>",
            "<error>",
            "</error>",
        ),
        *(
            '<?xml version="1.0"?>',
            "<!DOCTYPE a>",
            "<!--",
            "-->",
            "<![CDATA[",
            "]]>",
            "&amp;",
            "&x;",
            "\0",
        ),
    ]
)


@pytest.mark.parametrize(
    ("report", "expected"),
    [
        ("<testsuite><testcase/></testsuite>", Counts(1, 0, 0)),
        (
            "<testsuites><testsuite><testcase/><testcase><failure/></testcase></testsuite></testsuites>",
            Counts(1, 1, 0),
        ),
        (
            "<testsuite><testcase><skipped/></testcase><testcase><error/></testcase></testsuite>",
            Counts(0, 1, 1),
        ),
        (
            "<testsuite><testcase><failure/><error/><skipped/></testcase></testsuite>",
            Counts(0, 1, 0),
        ),
        ('<testsuite errors="1" failures="2"><testcase/></testsuite>', Counts(1, 3, 0)),
        (
            "<testsuites><testsuite><testsuite><testcase/></testsuite></testsuite></testsuites>",
            Counts(1, 0, 0),
        ),
        (
            '<?xml version="1.0" encoding="UTF-8"?>\n<testsuite><testcase name="ä"/></testsuite>',
            Counts(1, 0, 0),
        ),
        ("", None),
        ("<testsuite/>", None),
        ("<html><testcase/></html>", None),
        ("<testsuite><testcase></testsuite>", None),
        ('<testsuite errors="many"><testcase/></testsuite>', None),
        ('<!DOCTYPE x [<!ENTITY a "b">]><testsuite><testcase name="&a;"/></testsuite>', None),
        ('<?xml version="1.0" encoding="utf-7"?><testsuite><testcase/></testsuite>', None),
    ],
)
def test_a_report_is_counted_by_its_cases_or_not_at_all(
    report: str, expected: Counts | None
) -> None:
    assert count(report.encode()) == expected


def test_a_report_nested_very_deeply_is_survived() -> None:
    depth = 200_000
    report = "<testsuite>" * depth + "<testcase/>" + "</testsuite>" * depth
    assert count(report.encode()) in (None, Counts(1, 0, 0))


@settings(deadline=None)
@given(st.binary() | st.lists(FRAGMENTS).map(lambda parts: "".join(parts).encode()))
def test_whatever_is_written_there_never_breaks_the_reader(data: bytes) -> None:
    found = count(data)
    assert found is None or min(found.passed, found.failed, found.skipped) >= 0
