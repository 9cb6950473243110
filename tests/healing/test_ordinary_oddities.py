"""Repositories and diffs as they are in real life: odd and fine, and nothing of the user's is touched."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from support.repositories import commit, git, write
from support.workshop import ADDITION, Workshop
from tipstaff.evidence import paths


def made(workshop: Workshop, diff: bytes) -> bytes:
    """Propose it; the bytes that git shows for the commit, with nothing of the user's touched."""
    before = workshop.own()
    outcome = workshop.propose(diff)
    assert outcome.verdict.effect == "require_approval", outcome.verdict.codes
    assert workshop.own() == before
    branch = outcome.effects.branch
    assert branch is not None
    return subprocess.run(
        ["git", "-C", str(workshop.root), "diff", "--binary", "-M", "HEAD", branch],
        stdout=subprocess.PIPE,
        check=True,
    ).stdout


@pytest.mark.req("AU-05", "T-02")
def test_dirty_tree_and_index_are_left_as_they_are(workshop: Workshop) -> None:
    diff = workshop.diff()
    write(
        workshop.root,
        {"README.md": "dirty\n", "skills/word-count/SKILL.md": "mine\n", "new": "x\n"},
    )
    git(workshop.root, "add", "README.md")
    write(workshop.root, {"README.md": "dirtier\n", "golden/test_word_count.py": None})
    status = git(workshop.root, "status", "--porcelain")
    made(workshop, diff)
    assert git(workshop.root, "status", "--porcelain") == status
    assert (workshop.root / "README.md").read_text() == "dirtier\n"


@pytest.mark.req("AU-05")
def test_detached_head_stays_detached(workshop: Workshop) -> None:
    first = git(workshop.root, "rev-parse", "HEAD")
    git(workshop.root, "checkout", "-q", "--detach", first)
    made(workshop, workshop.diff())
    assert git(workshop.root, "rev-parse", "HEAD") == first
    assert "HEAD" in git(workshop.root, "rev-parse", "--abbrev-ref", "HEAD")


@pytest.mark.req("AU-05")
def test_branch_that_exists_is_not_overwritten(workshop: Workshop) -> None:
    diff = workshop.diff()
    name = workshop.propose(diff).effects.branch
    assert name is not None
    tip = git(workshop.root, "rev-parse", name)
    workshop.run("pause", "--reason", "so that it is another question")
    workshop.run(
        "approvals",
        "reject",
        workshop.run("approvals", "list", "--json").json["requests"][0]["key"],
    )
    again = workshop.propose(diff).effects.branch
    assert again == f"{name}-2"
    assert git(workshop.root, "rev-parse", name) == tip


def test_merge_or_rebase_under_way_is_no_hindrance(workshop: Workshop) -> None:
    diff = workshop.diff()
    git(workshop.root, "checkout", "-q", "-b", "side")
    write(workshop.root, {"README.md": "side\n"})
    commit(workshop.root, "side")
    git(workshop.root, "checkout", "-q", "main")
    write(workshop.root, {"README.md": "main\n"})
    commit(workshop.root, "main")
    subprocess.run(
        ["git", "-C", str(workshop.root), "merge", "side"], capture_output=True, check=False
    )
    assert git(workshop.root, "status", "--porcelain") == "UU README.md"
    made(workshop, diff)
    assert (workshop.root / ".git/MERGE_HEAD").exists()


def test_user_in_a_worktree_or_below_the_root_is_served(workshop: Workshop) -> None:
    diff = workshop.diff()
    answer = Workshop(workshop.root / "skills").propose_cli(diff)
    assert answer.code == 1
    assert len(workshop.branches()) == 1


def test_lock_of_the_users_index_is_no_hindrance(workshop: Workshop) -> None:
    diff = workshop.diff()
    (workshop.root / ".git/index.lock").write_text("")
    made(workshop, diff)
    assert (workshop.root / ".git/index.lock").exists()


def test_users_hooks_and_filters_do_not_run(workshop: Workshop, tmp_path: Path) -> None:
    mark = tmp_path / "ran"
    for hook in (
        "pre-commit",
        "post-commit",
        "reference-transaction",
        "post-checkout",
        "commit-msg",
    ):
        file = workshop.root / ".git/hooks" / hook
        file.write_text(f"#!/bin/sh\ntouch {mark}\n")
        file.chmod(0o755)
    git(workshop.root, "config", "filter.evil.clean", f"touch {mark}; cat")
    git(workshop.root, "config", "filter.evil.smudge", f"touch {mark}; cat")
    (workshop.root / ".git/info/attributes").write_text("* filter=evil\n")
    diff = workshop.diff()
    mark.unlink(missing_ok=True)
    made_branch = workshop.propose(diff).effects.branch
    assert made_branch is not None
    assert not mark.exists()


@pytest.mark.parametrize(
    "content",
    [b"one\r\ntwo\r\n", b"one\ntwo\r\n", b"no end", b"\r", b"\xef\xbb\xbfmark\n", b"\xe9\n"],
)
def test_line_ends_and_bytes_arrive_as_they_are(workshop: Workshop, content: bytes) -> None:
    diff = workshop.diff({"notes.txt": content})
    made(workshop, diff)
    branch = workshop.branches()[0]
    show = ["git", "-C", str(workshop.root), "cat-file", "blob", f"{branch}:notes.txt"]
    assert subprocess.run(show, stdout=subprocess.PIPE, check=True).stdout == content


def test_diff_that_was_saved_with_crlf_applies(workshop: Workshop) -> None:
    diff = workshop.diff().replace(b"\n", b"\r\n")
    assert b"+It reads standard input, too.\n" in made(workshop, diff)


def test_crlf_file_takes_a_crlf_addition(workshop: Workshop) -> None:
    (workshop.root / "dos.txt").write_bytes(b"one\r\n")
    commit(workshop.root, "dos")
    assert b"+two\r\n" in made(workshop, workshop.diff({"dos.txt": b"one\r\ntwo\r\n"}))


def test_mode_change_is_a_change_that_a_person_sees(workshop: Workshop) -> None:
    text = (workshop.root / "README.md").read_text()
    diff = workshop.diff({"README.md": text}, mode="100755")
    outcome = workshop.propose(diff)
    [file] = outcome.document.resource.files
    assert file.mode_changed
    assert outcome.verdict.effect == "require_approval"
    assert outcome.verdict.facts["purely_additive"] is False


def test_binary_file_is_a_change_that_a_person_sees(workshop: Workshop) -> None:
    diff = workshop.diff({"logo.png": b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"})
    assert b"GIT binary patch" in diff
    outcome = workshop.propose(diff)
    [file] = outcome.document.resource.files
    assert file.binary
    assert outcome.verdict.effect == "require_approval"
    # A new file only adds; one that changes does not, because nobody can tell.
    (workshop.root / "logo.png").write_bytes(b"\x89PNG\0")
    commit(workshop.root, "logo")
    changed = workshop.propose({"logo.png": b"\x89PNG\0\0"})
    assert changed.verdict.facts["purely_additive"] is False


def test_deletion_and_rename_are_changes_that_a_person_sees(workshop: Workshop) -> None:
    text = (workshop.root / "README.md").read_text()
    made(workshop, workshop.diff({"README.md": None}))
    outcome = workshop.propose({"README.md": None, "docs.md": text})
    assert [file.status for file in outcome.document.resource.files] == ["renamed"]
    assert outcome.verdict.facts["purely_additive"] is False


NAMES = [
    "with space.md",
    'with "quotes".md',
    "with 'one.md",
    "ünïcödé.md",
    "-dash.md",
    "a&b;c$(d).md",
    "two\nlines.md",
    "tab\there.md",
]


@pytest.mark.parametrize("name", NAMES)
def test_name_with_ordinary_oddities_is_proposed(workshop: Workshop, name: str) -> None:
    made(workshop, workshop.diff({f"skills/{name}": "x\n"}))
    listed = git(workshop.root, "ls-tree", "-z", "--name-only", workshop.branches()[0], "skills/")
    assert f"skills/{name}" in listed.split("\0")
    stored = workshop.records()[-3]["detail"]["event"]["resource"]["files"][0]["path"]
    assert paths.raw(stored) == os.fsencode(f"skills/{name}")
    for verb in (["change", "list"], ["approvals", "list"], ["audit", "list"]):
        assert len(workshop.run(*verb).stdout.splitlines()) in (2, 5)


@pytest.mark.promise("row 23")
@pytest.mark.parametrize("name", ["back\\slash.md", "odd\udce9.md"])
def test_name_that_cannot_be_shown_as_it_is_is_refused(workshop: Workshop, name: str) -> None:
    refused = workshop.propose(workshop.diff({f"skills/{name}": "x\n"}))
    assert refused.verdict.codes[0] == "path.unclear"
    assert workshop.branches() == []


def test_many_files_and_a_large_one_are_proposed(workshop: Workshop) -> None:
    files = {f"skills/{number}/SKILL.md": f"# {number}\n" for number in range(300)}
    outcome = workshop.propose({**files, "large.md": "line\n" * 200_000})
    assert len(outcome.document.resource.files) == 301
    assert outcome.effects.branch is not None
    assert workshop.is_sound()


def test_change_on_another_base_is_committed_there(workshop: Workshop) -> None:
    diff, base = workshop.diff(), git(workshop.root, "rev-parse", "HEAD")
    write(workshop.root, {"skills/word-count/SKILL.md": "something else\n"})
    commit(workshop.root, "move on")
    assert workshop.propose_cli(diff).code == 2
    outcome = workshop.propose(diff, base=base)
    assert git(workshop.root, "rev-parse", f"{outcome.effects.branch}^") == base


def test_shallow_clone_and_worktree_are_repositories(workshop: Workshop, tmp_path: Path) -> None:
    clone, tree = tmp_path / "clone", tmp_path / "tree"
    git(tmp_path, "clone", "-q", "--depth=1", f"file://{workshop.root}", str(clone))
    git(workshop.root, "worktree", "add", "-q", "--detach", str(tree))
    diff = workshop.diff(ADDITION)
    for root in (clone, tree):
        other = Workshop(root)
        assert other.propose_cli(diff).code == 1
        assert len(other.pull_requests()) == 1
