"""GitHub is spoken to through real PyGithub and real git; every fault is an error of ours with a code."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from support.github_scene import BRANCH, Scene, git, refused
from support.github_server import SLUG, TOKEN, WEB
from tipstaff.errors import Error

PULLS = f"/repos/{SLUG}/pulls"


@pytest.mark.req("AU-05")
@pytest.mark.parametrize("draft", [False, True])
def test_a_pull_request_is_opened_from_a_pushed_branch(scene: Scene, draft: bool) -> None:
    before = git(scene.root, "rev-parse", "HEAD"), git(scene.root, "status", "--porcelain")
    url = scene.forge.open(replace(scene.pull_request, draft=draft))
    (pull,) = scene.github.pulls
    assert url == f"{WEB}/{SLUG}/pull/1"
    assert (pull.branch, pull.base, pull.draft) == (BRANCH, "main", draft)
    assert (pull.title, pull.body) == ("title", scene.pull_request.body)
    assert scene.github.head(BRANCH) == scene.pull_request.commit
    assert scene.github.head("main") == before[0]
    assert (
        git(scene.root, "rev-parse", "HEAD"),
        git(scene.root, "status", "--porcelain"),
    ) == before


def test_opening_again_finds_the_same_one(scene: Scene) -> None:
    first = scene.forge.open(scene.pull_request)
    assert scene.forge.open(scene.pull_request) == first
    assert len(scene.github.pulls) == 1
    assert len(scene.github.seen("POST", PULLS)) == 1


def test_opening_again_finds_one_that_a_reviewer_pushed_to(scene: Scene) -> None:
    first = scene.forge.open(scene.pull_request)
    scene.github.pulls[0].sha = "ee" * 20
    assert scene.forge.open(scene.pull_request) == first


def test_opening_again_finds_one_that_a_person_closed(scene: Scene) -> None:
    first = scene.forge.open(scene.pull_request)
    scene.github.pulls[0].state = "closed"
    assert scene.forge.open(scene.pull_request) == first
    assert len(scene.github.pulls) == 1


def test_opening_after_only_the_push_arrived_is_finished(scene: Scene) -> None:
    scene.forge.repository.push("origin", scene.pull_request.commit, BRANCH)
    scene.forge.open(scene.pull_request)
    assert len(scene.github.pulls) == 1


@pytest.mark.parametrize("branch", [BRANCH, "other"])
def test_pull_requests_of_forks_and_other_branches_are_not_taken_for_ours(
    scene: Scene, branch: str
) -> None:
    scene.github.heads_ignored = True
    owner = "mallory" if branch == BRANCH else "acme"
    scene.github.open_pull(branch, sha=scene.pull_request.commit, owner=owner)
    scene.github.pulls[0].state = "closed"
    assert scene.forge.open(scene.pull_request) == f"{WEB}/{SLUG}/pull/2"


def test_an_open_one_of_another_decision_is_named_and_left_alone(scene: Scene) -> None:
    scene.github.open_pull(BRANCH, sha="ee" * 20)
    error = refused(lambda: scene.forge.open(scene.pull_request))
    assert error.code == "forge.refused"
    assert scene.reference in error.message
    assert not scene.github.seen("POST")


@pytest.mark.req("AU-05")
def test_a_branch_with_another_commit_is_never_moved(scene: Scene) -> None:
    other = git(scene.root, "rev-parse", "HEAD")
    scene.forge.repository.push("origin", other, BRANCH)
    error = refused(lambda: scene.forge.open(scene.pull_request))
    assert error.code == "forge.refused"
    assert scene.github.head(BRANCH) == other
    assert scene.github.pulls == []


def test_a_push_that_fails_opens_nothing(scene: Scene, tmp_path: Path) -> None:
    git(scene.root, "remote", "set-url", "--push", "origin", str(tmp_path / "absent.git"))
    with pytest.raises(Error):
        scene.forge.open(scene.pull_request)
    assert scene.github.pulls == []


def test_a_draft_that_github_refuses_is_never_opened_ready(scene: Scene) -> None:
    scene.github.drafts_supported = False
    error = refused(lambda: scene.forge.open(replace(scene.pull_request, draft=True)))
    assert error.code == "forge.refused"
    assert "Draft pull requests are not supported" in error.message
    assert scene.github.pulls == []


def test_a_draft_is_marked_ready_once(scene: Scene) -> None:
    reference = scene.forge.open(replace(scene.pull_request, draft=True))
    scene.forge.mark_ready(reference)
    scene.forge.mark_ready(reference)
    assert not scene.github.pulls[0].draft
    assert len(scene.github.seen("POST", "/graphql")) == 1


def test_marking_a_merged_one_ready_has_no_effect(scene: Scene) -> None:
    reference = scene.forge.open(replace(scene.pull_request, draft=True))
    scene.github.pulls[0].state = "closed"
    scene.github.pulls[0].merged_at = "2026-01-01T00:00:00Z"
    scene.forge.mark_ready(reference)
    assert not scene.github.seen("POST", "/graphql")


def test_marking_a_closed_one_ready_is_refused(scene: Scene) -> None:
    reference = scene.forge.open(replace(scene.pull_request, draft=True))
    scene.github.pulls[0].state = "closed"
    assert refused(lambda: scene.forge.mark_ready(reference)).code == "forge.refused"


def test_a_refusal_by_graphql_is_a_refusal(scene: Scene) -> None:
    reference = scene.forge.open(replace(scene.pull_request, draft=True))
    message = "Resource not accessible by integration"
    answer = {"data": None, "errors": [{"type": "FORBIDDEN", "message": message}]}
    scene.github.fail("POST", "/graphql", status=200, body=answer)
    error = refused(lambda: scene.forge.mark_ready(reference))
    assert error.code == "forge.refused"
    assert message in error.message
    assert scene.github.pulls[0].draft


def test_closing_comments_once_and_closes(scene: Scene) -> None:
    reference = scene.forge.open(scene.pull_request)
    scene.forge.close(reference, "Rejected.")
    scene.forge.close(reference, "Rejected.")
    assert scene.github.pulls[0].state == "closed"
    assert scene.github.pulls[0].comments == ["Rejected."]


def test_closing_again_after_only_the_comment_arrived_comments_once(scene: Scene) -> None:
    reference = scene.forge.open(scene.pull_request)
    scene.github.fail("PATCH", f"{PULLS}/1", status=500, body={"message": "oops"})
    assert refused(lambda: scene.forge.close(reference, "no")).code == "forge.unreachable"
    scene.github.heal()
    scene.forge.close(reference, "no")
    assert scene.github.pulls[0].comments == ["no"]
    assert scene.github.pulls[0].state == "closed"


@pytest.mark.parametrize(
    "reference",
    [
        f"{WEB}/acme/other/pull/1",
        f"https://evil.example/{SLUG}/pull/1",
        f"{WEB}/{SLUG}/pull/1/files",
        f"{WEB}/{SLUG}/pull/\u0661",
        ".tipstaff/pull-requests/x.md",
        "",
    ],
)
def test_a_reference_to_something_else_is_refused(scene: Scene, reference: str) -> None:
    scene.forge.open(replace(scene.pull_request, draft=True))
    assert refused(lambda: scene.forge.mark_ready(reference)).code == "forge.refused"
    assert scene.github.pulls[0].draft


FAULTS = [
    ({"status": 401, "body": {"message": "Bad credentials"}}, "forge.unauthorized"),
    ({"status": 403, "body": {"message": f"no right for {TOKEN}"}}, "forge.unauthorized"),
    ({"status": 404, "body": {"message": "Not Found"}}, "forge.refused"),
    ({"status": 422, "body": {"message": "Validation Failed"}}, "forge.refused"),
    ({"status": 422, "body": {"message": ["odd"], "errors": "odd"}}, "forge.unreachable"),
    ({"status": 403, "body": {"message": "API rate limit exceeded"}}, "forge.unreachable"),
    ({"status": 429, "body": {"message": "slow down"}}, "forge.unreachable"),
    ({"status": 500, "body": {"message": f"trace {TOKEN}"}}, "forge.unreachable"),
    ({"status": 502, "body": "<html>bad gateway</html>"}, "forge.unreachable"),
    ({"kind": "hang"}, "forge.unreachable"),
    ({"kind": "half", "body": {"message": "x" * 100}}, "forge.unreachable"),
    ({"kind": "text", "body": "<html>log in</html>"}, "forge.unreachable"),
    ({"kind": "text", "body": "[]"}, "forge.unreachable"),
    ({"kind": "text", "body": "{"}, "forge.unreachable"),
    ({"kind": "text", "body": "null"}, "forge.unreachable"),
    ({"kind": "text", "body": f'{{"number": "{TOKEN}", "html_url": 7}}'}, "forge.unreachable"),
]


@pytest.mark.parametrize(("fault", "code"), FAULTS)
@pytest.mark.parametrize("done", [False, True])
def test_each_fault_while_opening_has_its_code_and_leaves_no_second_one(
    scene: Scene, fault: dict[str, Any], code: str, done: bool
) -> None:
    scene.github.fail("POST", PULLS, done=done, **fault)
    if done and code == "forge.refused" and fault["status"] == 422:
        scene.forge.open(scene.pull_request)
    else:
        assert refused(lambda: scene.forge.open(scene.pull_request)).code == code
    assert len(scene.github.seen("POST", PULLS)) == 1
    scene.github.heal()
    assert scene.forge.open(scene.pull_request) == scene.reference
    assert len(scene.github.pulls) == 1


@pytest.mark.parametrize(("fault", "code"), FAULTS)
def test_each_fault_before_opening_has_its_code_and_changes_nothing(
    scene: Scene, fault: dict[str, Any], code: str
) -> None:
    scene.github.fail("GET", f"/repos/{SLUG}", **fault)
    assert refused(lambda: scene.forge.open(scene.pull_request)).code == code
    assert scene.github.head(BRANCH) is None
    assert not scene.github.seen("POST")


@pytest.mark.parametrize(
    ("fault", "code"), [case for case in FAULTS if case[0].get("body") not in ("[]", "null")]
)
def test_each_fault_while_listing_opens_nothing(
    scene: Scene, fault: dict[str, Any], code: str
) -> None:
    scene.github.fail("GET", PULLS, **fault)
    assert refused(lambda: scene.forge.open(scene.pull_request)).code == code
    assert not scene.github.seen("POST")


@pytest.mark.parametrize(("fault", "code"), FAULTS)
def test_each_fault_while_marking_ready_has_its_code_and_can_be_repeated(
    scene: Scene, fault: dict[str, Any], code: str
) -> None:
    reference = scene.forge.open(replace(scene.pull_request, draft=True))
    scene.github.fail("POST", "/graphql", **fault)
    assert refused(lambda: scene.forge.mark_ready(reference)).code == code
    assert len(scene.github.seen("POST", "/graphql")) == 1
    scene.github.heal()
    scene.forge.mark_ready(reference)
    assert not scene.github.pulls[0].draft


def test_a_wrong_token_is_unauthorized_and_not_shown(scene: Scene) -> None:
    forge = replace(scene.forge, server=replace(scene.forge.server, token="another"))
    assert refused(lambda: forge.open(scene.pull_request)).code == "forge.unauthorized"


def test_nobody_listening_is_unreachable(scene: Scene) -> None:
    forge = replace(scene.forge, server=replace(scene.forge.server, api="http://127.0.0.1:1"))
    assert refused(lambda: forge.open(scene.pull_request)).code == "forge.unreachable"


def test_the_token_is_not_in_what_a_forge_shows_of_itself(scene: Scene) -> None:
    assert TOKEN not in repr(scene.forge)


def test_two_who_open_at_once_leave_one(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    push = scene.forge.repository.push

    def overtaken(remote: str, commit: str, branch: str, *, environment: dict[str, str]) -> None:
        push(remote, commit, branch, environment=environment)
        scene.github.open_pull(branch, sha=commit)

    monkeypatch.setattr(scene.forge.repository, "push", overtaken)
    assert scene.forge.open(scene.pull_request) == scene.reference
    assert len(scene.github.pulls) == 1


def test_nothing_here_can_merge() -> None:
    import tipstaff

    for path in Path(tipstaff.__file__).parent.rglob("*.py"):
        text = path.read_text(encoding="utf-8").lower()
        for sign in (".merge(", "/merge", "enable_automerge", "automerge", "mergepullrequest"):
            assert sign not in text, path
