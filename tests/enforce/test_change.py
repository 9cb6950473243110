"""A change becomes a commit on a new branch, and the user's own work is not touched."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

import pytest

from support.github_scene import git
from support.verdicts import DECISION, DIGEST, a_change, a_file
from tipstaff.enforce.change import branch_and_commit
from tipstaff.enforce.pull_request import commit_message
from tipstaff.errors import ContractError
from tipstaff.evidence.repository import Repository

NAME = f"tipstaff/heal_additive/{DIGEST[:12]}"
DIFF = b"""diff --git a/a.txt b/a.txt
--- a/a.txt
+++ b/a.txt
@@ -1 +1,2 @@
 one
+two
"""


@dataclass(frozen=True)
class Applied:
    """What is needed of a read patch."""

    base: str
    tree: str
    diff_sha256: str = DIGEST


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    root = tmp_path / "project"
    root.mkdir()
    git(root, "init", "-q", "-b", "main")
    (root / "a.txt").write_text("one\n", encoding="utf-8")
    git(root, "add", "a.txt")
    git(root, "-c", "user.name=A", "-c", "user.email=a@example.com", "commit", "-q", "-m", "base")
    return root


def carried_out(root: Path, **options: str) -> tuple[str, str]:
    repository = Repository.open(root)
    base = repository.resolve("HEAD")
    patch = Applied(base, repository.apply(DIFF, base))
    message = commit_message(a_change(a_file("a.txt")), DECISION)
    kind = options.pop("action_class", "heal_additive")
    return branch_and_commit(repository, patch, action_class=kind, message=message, **options)


def own_work(root: Path) -> dict[str, str]:
    """Every file of the user's, and of git's folder what says where the user is."""
    kept = [path for path in root.rglob("*") if path.is_file() and ".git" not in path.parts]
    kept += [root / ".git" / name for name in ("HEAD", "index", "config", "refs/heads/main")]
    stamps = {
        str(path): hashlib.sha256(path.read_bytes()).hexdigest() + str(path.stat().st_mtime_ns)
        for path in kept
    }
    return stamps | {"stash": git(root, "stash", "list"), "reflog": git(root, "reflog")}


@pytest.mark.req("AU-05", "T-08")
def test_the_users_work_is_byte_identical_and_head_stays(root: Path) -> None:
    (root / "a.txt").write_text("mine\n", encoding="utf-8")
    (root / "new.txt").write_text("untracked\n", encoding="utf-8")
    (root / "staged.txt").write_text("staged\n", encoding="utf-8")
    git(root, "add", "staged.txt")
    head, before = git(root, "rev-parse", "main"), own_work(root)
    branch, commit = carried_out(root)
    assert own_work(root) == before
    assert git(root, "symbolic-ref", "HEAD") == "refs/heads/main"
    assert git(root, "rev-parse", "main") == head
    assert (branch, git(root, "rev-parse", branch)) == (NAME, commit)


def test_a_detached_head_stays_detached_where_it_is(root: Path) -> None:
    git(root, "checkout", "-q", "--detach")
    before = own_work(root)
    carried_out(root)
    assert own_work(root) == before


def test_the_commit_is_the_patched_tree_on_the_base_with_the_trailer(root: Path) -> None:
    _, commit = carried_out(root)
    assert git(root, "rev-parse", f"{commit}^") == git(root, "rev-parse", "main")
    assert git(root, "show", f"{commit}:a.txt") == "one\ntwo"
    told = git(root, "log", "-1", "--format=%(trailers:key=Tipstaff-Decision,valueonly)", commit)
    assert told == DECISION


@pytest.mark.req("AU-05")
def test_a_branch_that_exists_is_kept_and_the_new_one_gets_a_suffix(root: Path) -> None:
    git(root, "branch", NAME)
    before = git(root, "rev-parse", NAME)
    assert carried_out(root)[0] == f"{NAME}-2"
    assert carried_out(root)[0] == f"{NAME}-3"
    assert git(root, "rev-parse", NAME) == before


def test_without_a_configured_identity_the_author_is_tipstaff(root: Path) -> None:
    _, commit = carried_out(root)
    assert who(root, commit) == "Tipstaff <tipstaff@localhost>"


def test_half_an_identity_is_none(root: Path) -> None:
    git(root, "config", "user.name", "Alice")
    _, commit = carried_out(root)
    assert who(root, commit) == "Tipstaff <tipstaff@localhost>"


def test_a_configured_identity_is_the_author(root: Path) -> None:
    git(root, "config", "user.name", "Ali ce Ü")
    git(root, "config", "user.email", "alice@example.com")
    _, commit = carried_out(root)
    assert who(root, commit) == "Ali ce Ü <alice@example.com>"


def test_a_given_author_comes_first(root: Path) -> None:
    git(root, "config", "user.name", "Alice")
    git(root, "config", "user.email", "alice@example.com")
    _, commit = carried_out(root, author="Bob <bob@example.com>")
    assert who(root, commit) == "Bob <bob@example.com>"


def test_an_unknown_class_makes_neither_commit_nor_branch(root: Path) -> None:
    before = objects(root)
    with pytest.raises(ContractError):
        carried_out(root, action_class="heal_foo")
    assert git(root, "branch", "--list", "tipstaff/*") == ""
    assert objects(root).count("commit") == before.count("commit")


def test_hooks_of_the_repository_do_not_run(root: Path) -> None:
    hooks = root / ".git" / "hooks"
    for name in ("pre-commit", "commit-msg", "post-commit", "reference-transaction"):
        hook = hooks / name
        hook.write_text(f"#!/bin/sh\ntouch {root}/ran-{name}\n", encoding="utf-8")
        hook.chmod(0o755)
    carried_out(root)
    assert not list(root.glob("ran-*"))


def objects(root: Path) -> list[str]:
    return git(root, "cat-file", "--batch-all-objects", "--batch-check=%(objecttype)").split()


def who(root: Path, commit: str) -> str:
    return git(root, "log", "-1", "--format=%an <%ae>", commit)
