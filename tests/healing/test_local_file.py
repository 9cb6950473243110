"""The local file of a person: it tightens what the team set, and each attempt to loosen is a record."""

from __future__ import annotations

import pytest

from support.documents import a_change, a_file
from support.repositories import git
from support.workshop import AUTOMATIC, GOLDEN, Workshop


def effective(workshop: Workshop, action_class: str) -> str:
    """The tier that `tipstaff tiers` prints for a class."""
    rows = workshop.run("tiers", "--json").json["tiers"]
    return str(next(row["effective"] for row in rows if row["class"] == action_class))


@pytest.mark.req("T-10")
def test_local_file_that_git_tracks_is_a_finding(workshop: Workshop) -> None:
    workshop.prefer(autonomy={"audit": "propose"})
    assert workshop.run("check").code == 0
    git(workshop.root, "add", "-f", "tipstaff.local.yaml")
    found = workshop.run("check", "--json")
    assert found.code == 1
    assert [finding["code"] for finding in found.json["findings"]] == ["config.local_tracked"]


@pytest.mark.req("T-11", "T-10")
def test_local_tier_above_the_ceiling_is_clamped_and_the_clamp_is_audited_once(
    workshop: Workshop,
) -> None:
    workshop.configure(autonomy={"augment": "propose"})
    for wish in ("auto-if-tests-pass", "auto"):
        workshop.prefer(autonomy={"augment": wish})
        assert effective(workshop, "augment") == "propose"
    workshop.decide(a_change("augment"))
    clamps = [record for record in workshop.records() if record["decision"] == "blocked-by-ceiling"]
    assert [clamp["detail"] for clamp in clamps] == [{"requested": "auto", "ceiling": "propose"}]
    assert clamps[0]["action_class"] == "augment"
    found = workshop.run("check", "--json").json["findings"]
    assert [finding["code"] for finding in found] == ["tier.blocked_by_ceiling"]


@pytest.mark.req("T-11", "KG-09")
def test_local_profile_cannot_lower_the_teams(workshop: Workshop) -> None:
    workshop.configure(autonomy=AUTOMATIC, sandbox={"profile": "strict"})
    workshop.prefer(sandbox={"profile": "dev"})
    outcome = workshop.propose(tests=GOLDEN)
    assert outcome.golden.sandbox is not None
    assert (outcome.golden.sandbox.profile, outcome.golden.sandbox.isolated) == ("strict", True)
    assert outcome.verdict.effect == "allow"
    dev = a_change(evidence__sandbox__profile="dev")
    assert "sandbox.unisolated" in workshop.decide(dev).codes


@pytest.mark.req("T-11")
def test_other_local_settings_only_tighten(workshop: Workshop) -> None:
    workshop.configure(autonomy=AUTOMATIC, sandbox={"minimum_backend": "bubblewrap"})
    workshop.prefer(sandbox={"minimum_backend": "nsjail"})
    weak = a_change(evidence__sandbox__backend="nsjail")
    assert workshop.decide(weak).codes == ["sandbox.minimum"]
    workshop.prefer(sandbox={"minimum_backend": "gvisor"})
    assert workshop.decide(a_change()).codes == ["sandbox.minimum"]
    workshop.prefer(sandbox=None, paths={"allowed": ["**"], "read_only": []})
    vendored = a_change(resource__files=[a_file("skills/vendor/a.md")])
    assert workshop.decide(vendored).codes == ["path.read_only"]


@pytest.mark.req("T-13")
def test_effective_tier_is_the_lowest_of_three(workshop: Workshop) -> None:
    workshop.configure(autonomy=AUTOMATIC)
    workshop.prefer(
        autonomy={"heal_additive": "propose"},
        remembered_choices={"heal_additive": "auto-if-tests-pass"},
    )
    assert effective(workshop, "heal_additive") == "propose"
    workshop.prefer(
        autonomy={"heal_additive": "auto-if-tests-pass"},
        remembered_choices={"heal_additive": "propose"},
    )
    assert effective(workshop, "heal_additive") == "propose"
    workshop.prefer(autonomy=None, remembered_choices=AUTOMATIC)
    assert effective(workshop, "heal_additive") == "auto-if-tests-pass"
