"""Whatever is wrong with the store of records, nothing is allowed and nothing is done."""

from __future__ import annotations

from contextlib import nullcontext, suppress

import pytest

from support.documents import a_change
from support.repositories import git
from support.store_faults import FAULTS, small_file_system
from support.workshop import AUTOMATIC, Workshop
from tipstaff.errors import Error

NOT_ALLOWED = {"deny", "escalate"}


@pytest.mark.promise("L5", "row 92", "BR-31")
@pytest.mark.parametrize("fault", FAULTS)
def test_store_that_fails_so_allows_nothing_and_nothing_is_done(
    workshop: Workshop, monkeypatch: pytest.MonkeyPatch, fault: str
) -> None:
    workshop.configure(autonomy=AUTOMATIC)
    diff = workshop.diff()
    place = small_file_system(workshop.state) if fault == "full disk" else nullcontext()
    with place:
        assert workshop.decide(a_change()).effect == "allow"
        effects: list[str] = []
        before = git(workshop.root, "rev-list", "--all")
        with FAULTS[fault](workshop.state, monkeypatch):
            # Without a witness no end is signed, and without descriptors no project is read.
            with suppress(Error), workshop.engine() as engine:
                effects.append(engine.decide(a_change()).effect)
            answer = workshop.propose_cli(diff, "--json")
        assert set(effects) <= NOT_ALLOWED
        assert answer.code == (2 if fault == "no descriptors left" else 3)
        verdict = answer.json.get("verdict")
        assert verdict is None or verdict["effect"] in NOT_ALLOWED
        assert git(workshop.root, "rev-list", "--all") == before
        assert (workshop.branches(), workshop.pull_requests()) == ([], {})
        assert workshop.run("approvals", "list", "--json").json["requests"] == []
