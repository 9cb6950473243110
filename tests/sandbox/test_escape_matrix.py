"""Every escape case on every backend that is here; where CI expects a backend, its absence is a failure.

Guests run the same cases in `microvm/test_escape.py`.
"""

from __future__ import annotations

import pytest

from support.sandboxes import BACKENDS, present, strict
from tipstaff.sandbox.escape import cases, suite

# What the parts of the suite stand against; a part without a threat fails.
THREATS = {
    "network": pytest.mark.threat_privacy,
    "files": pytest.mark.threat_overreach,
    "kernel": pytest.mark.threat_overreach,
    "terminal": pytest.mark.threat_overreach,
    "processes": pytest.mark.threat_operational,
    "disclosure": pytest.mark.threat_privacy,
    "routes": pytest.mark.threat_overreach,
    "limits": pytest.mark.threat_operational,
}
PARTS = [pytest.param(part, marks=THREATS[part]) for part in cases.suite().parts]


@pytest.mark.req("S-02", "S-03", "S-04", "S-05", "S-09", "KG-10")
@pytest.mark.promise("X1", "X4", "X5", "X8", "X9", "X10", "ahead 15")
@pytest.mark.promise("row 95", "row 96", "row 97", "row 98", "row 99", "row 100")
@pytest.mark.promise("row 101", "row 102", "row 103", "row 104")
@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("name", BACKENDS)
def test_a_part_of_the_suite_finds_no_way_out(name: str, part: str) -> None:
    found = {case.case: case for case in suite.run(present(name), strict(), cases.chosen((part,)))}
    assert list(found) == [case.id for case in _in_order(part)]
    bad = [f for f in found.values() if f.outcome not in ("held", "contained")]
    assert bad == []


def test_a_freedom_that_only_an_own_kernel_may_grant_is_an_escape_on_the_hosts() -> None:
    outcomes = {
        f.outcome for f in suite.run(present("bubblewrap"), strict(), cases.chosen(("kernel",)))
    }
    assert outcomes == {"held"}


def test_the_suite_is_large_and_each_case_says_what_and_why() -> None:
    every = cases.cases()
    assert len(every) >= 90
    assert len({case.id for case in every}) == len(every)
    assert all(case.must and case.why for case in every)
    assert len(cases.suite().persistent) >= 40


@pytest.mark.req("E-13")
@pytest.mark.parametrize("threat", sorted({mark.name for mark in THREATS.values()}))
def test_each_threat_has_a_suite_of_its_own(threat: str) -> None:
    parts = tuple(part for part, mark in THREATS.items() if mark.name == threat)
    assert len(parts) * len(BACKENDS) >= 5
    assert len(cases.chosen(parts)) >= 15


def _in_order(part: str) -> list[cases.Case]:
    chosen = cases.chosen((part,))
    return [case for alone in (False, True) for case in chosen if case.alone is alone]
