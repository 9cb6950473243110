"""A pull request brings what was judged to its target branch, and nothing that lies above or below it."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.command_line import run
from support.repositories import commit, git, write
from support.workshop import ADDITION, Workshop
from tipstaff.errors import ActionDenied


def moved(workshop: Workshop, branch: str) -> str:
    """Put a commit that nobody judged on top of the branch."""
    tree = git(workshop.root, "rev-parse", f"{branch}^{{tree}}")
    top = git(workshop.root, "commit-tree", tree, "-p", branch, "-m", "one more")
    git(workshop.root, "update-ref", f"refs/heads/{branch}", top)
    return top


@pytest.mark.parametrize("is_deleted", [False, True])
def test_branch_that_was_moved_after_the_request_is_not_approved(
    workshop: Workshop, is_deleted: bool
) -> None:
    outcome = workshop.propose()
    request, branch, judged = (
        outcome.effects.approval,
        outcome.effects.branch,
        outcome.effects.commit,
    )
    assert request is not None
    assert branch is not None
    assert judged is not None
    if is_deleted:
        git(workshop.root, "update-ref", "-d", f"refs/heads/{branch}")
    else:
        moved(workshop, branch)
    answer = workshop.run("approvals", "approve", request.key, "--json")
    assert (answer.code, answer.json["error"]["code"]) == (1, "enforce.moved")
    [text] = workshop.pull_requests().values()
    assert 'status: "draft"' in text
    assert workshop.status(request.key) == "pending"
    git(workshop.root, "update-ref", f"refs/heads/{branch}", judged)
    assert workshop.approve(request.key).request.status == "consumed"


def test_branch_that_is_moved_while_a_person_approves_is_not_made_ready(
    workshop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    outcome = workshop.propose()
    request, branch = outcome.effects.approval, outcome.effects.branch
    assert request is not None
    assert branch is not None
    from tipstaff.ledger.approvals import Approvals

    approve = Approvals.approve

    def late(self: Approvals, *given: object, **more: object) -> object:
        moved(workshop, branch)
        return approve(self, *given, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(Approvals, "approve", late)
    with pytest.raises(ActionDenied):
        workshop.approve(request.key)
    [text] = workshop.pull_requests().values()
    assert 'status: "draft"' in text


def foreign(workshop: Workshop) -> str:
    """A commit of nobody's that changes the policy and the tests."""
    git(workshop.root, "checkout", "-q", "-b", "elsewhere")
    write(workshop.root, {"policy/org/x.rego": "package org.x\n"})
    commit(workshop.root, "loosen")
    made = git(workshop.root, "rev-parse", "HEAD")
    git(workshop.root, "checkout", "-q", "-")
    return made


def test_base_that_the_target_branch_lacks_is_refused(workshop: Workshop) -> None:
    base = foreign(workshop)
    refused = workshop.propose_cli(workshop.diff(ADDITION), "--base", base, "--json")
    assert (refused.code, refused.json["error"]["code"]) == (2, "repository.foreign_base")
    assert refused.json["error"]["field"] == "base"
    assert workshop.branches() == []
    assert workshop.records() == []


def test_detached_head_brings_only_what_the_target_branch_holds(workshop: Workshop) -> None:
    base = foreign(workshop)
    git(workshop.root, "checkout", "-q", "--detach")
    assert workshop.propose_cli(workshop.diff(ADDITION)).code == 1
    git(workshop.root, "checkout", "-q", "--detach", base)
    refused = workshop.propose_cli(workshop.diff(ADDITION), "--json")
    assert (refused.code, refused.json["error"]["code"]) == (2, "repository.foreign_base")


def test_earlier_commit_of_the_target_branch_is_a_base(workshop: Workshop, tmp_path: Path) -> None:
    diff, base = workshop.diff(), git(workshop.root, "rev-parse", "HEAD")
    write(workshop.root, {"other.md": "x\n"})
    commit(workshop.root, "move on")
    assert workshop.propose_cli(diff, "--base", base).code == 1


def loosened(workshop: Workshop) -> Path:
    """A folder of the repository with a team file of its own, which would let everything through."""
    inner = workshop.root / "skills"
    (inner / "tipstaff.yaml").write_text("schema_version: 1\nautonomy: {heal_additive: propose}\n")
    workshop.configure(autonomy={"heal_additive": "off"})
    return inner


def test_team_file_deeper_in_the_repository_rules_nothing(workshop: Workshop) -> None:
    inner, diff = loosened(workshop), workshop.diff()
    answer = run(
        *("change", "propose", "--class", "heal_additive", "--diff", "-", "--json"),
        cwd=inner,
        stdin=diff,
    )
    assert (answer.code, answer.json["verdict"]["codes"]) == (1, ["tier.off"])
    assert run("pause", "--reason", "fire", cwd=inner).code == 0
    assert "paused" in workshop.entries()
    assert not (inner / ".tipstaff").exists()


def test_folder_that_only_looks_like_a_repository_rules_nothing(workshop: Workshop) -> None:
    inner, diff = loosened(workshop), workshop.diff()
    (inner / ".git").mkdir()
    refused = run(
        *("change", "propose", "--class", "heal_additive", "--diff", "-", "--json"),
        cwd=inner,
        stdin=diff,
    )
    assert (refused.code, refused.json["error"]["code"]) == (2, "project.inner")
    assert workshop.branches() == []
