"""Every escape case on every backend that is here; where CI expects a backend, its absence is a failure."""

from __future__ import annotations

import pytest

from support.machines import MACHINES, machine
from support.sandboxes import BACKENDS, present, strict
from tipstaff.sandbox.escape import cases, suite


@pytest.mark.req("S-02", "S-03", "S-04", "S-05", "S-09", "KG-10")
@pytest.mark.promise("X1", "X4", "X5", "X8", "X9", "X10", "ahead 15")
@pytest.mark.promise("row 95", "row 96", "row 97", "row 98", "row 99", "row 100")
@pytest.mark.promise("row 101", "row 102", "row 103", "row 104")
@pytest.mark.parametrize("part", cases.suite().parts)
@pytest.mark.parametrize("name", BACKENDS)
def test_a_part_of_the_suite_finds_no_way_out(name: str, part: str) -> None:
    found = {case.case: case for case in suite.run(present(name), strict(), cases.chosen((part,)))}
    assert list(found) == [case.id for case in _in_order(part)]
    bad = [f for f in found.values() if f.outcome not in ("held", "contained")]
    assert bad == []


@pytest.mark.promise("X1", "X5", "X10", "ahead 15", "row 96", "row 100")
@pytest.mark.parametrize("name", MACHINES)
def test_a_guest_finds_no_way_out_by_a_socket_or_a_terminal(name: str) -> None:
    chosen = cases.chosen(("network", "terminal"))
    found = list(suite.run(machine(name), strict(), chosen))
    assert len(found) == len(chosen)
    assert [f for f in found if f.outcome not in ("held", "contained")] == []


@pytest.mark.nightly
@pytest.mark.promise("X1", "X4", "X5", "X8", "X9", "X10", "ahead 15")
@pytest.mark.parametrize("part", cases.suite().parts)
@pytest.mark.parametrize("name", MACHINES)
def test_a_guest_finds_no_way_out_of_any_part(name: str, part: str) -> None:
    found = list(suite.run(machine(name), strict(), cases.chosen((part,))))
    assert [f for f in found if f.outcome not in ("held", "contained")] == []


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


def _in_order(part: str) -> list[cases.Case]:
    chosen = cases.chosen((part,))
    return [case for alone in (False, True) for case in chosen if case.alone is alone]
