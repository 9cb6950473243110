"""Diffs that nobody may bring: what is refused, by which code, and that nothing is written."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from support.diff_reading import BASE, measure, new_file, only, refused
from support.git_scene import Scene


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    return Scene(tmp_path / "project", BASE)


@pytest.mark.parametrize("diff", [b"", b"\n \n"])
def test_empty_diff_is_refused(scene: Scene, diff: bytes) -> None:
    refused(scene, diff, "diff.empty")


@pytest.mark.parametrize("diff", [b"hello\n", b"\xff\0\1", b"{}", b"Index: x\n====\n"])
def test_other_bytes_are_no_diff(scene: Scene, diff: bytes) -> None:
    refused(scene, diff, "diff.not_a_diff")


def test_diff_that_does_not_apply_shows_what_git_says(scene: Scene) -> None:
    diff = b"--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-nothing\n+x\n"
    assert "a.py" in refused(scene, diff, "diff.does_not_apply").message


@pytest.mark.parametrize(
    "path",
    [
        "../x",
        "a/../../x",
        "a/../b",
        "..",
        ".git/config",
        ".GIT/config",
        "sub/.git/hooks/x",
        ".git./x",
        ".git /x",
        "git~1/x",
        "GIT~2/x",
        ".g\u200cit/x",
        ".git:x/y",
        ".git::$INDEX_ALLOCATION/x",
        "a//b",
        "a/./b",
        "a\\..\\x",
        "a\\.git\\x",
    ],
)
def test_path_that_leaves_or_rules_the_repository_is_refused(scene: Scene, path: str) -> None:
    error = refused(scene, new_file(path), "diff.path")
    assert error.file is not None


@pytest.mark.parametrize(
    "diff",
    [
        b"--- /dev/null\n+++ /etc/x\n@@ -0,0 +1 @@\n+x\n",
        b"--- /etc/x\n+++ /etc/x\n@@ -0,0 +1 @@\n+x\n",
        b"diff --git /etc/x /etc/x\nold mode 100644\nnew mode 100755\n",
        b"diff --git a/a.py b/a.py\nsimilarity index 100%\nrename from a.py\nrename to /etc/x\n",
        b"diff --git a/a.py b/a.py\nsimilarity index 100%\ncopy from ../a.py\ncopy to b.py\n",
        b'--- /dev/null\n+++ "b/\\056\\056/x"\n@@ -0,0 +1 @@\n+x\n',
        b'--- /dev/null\n+++ "/etc/x"\n@@ -0,0 +1 @@\n+x\n',
        b"--- /dev/null\n+++ C:\\x\n@@ -0,0 +1 @@\n+x\n",
        b'--- /dev/null\n+++ "b/x\\000y"\n@@ -0,0 +1 @@\n+x\n',
        b"--- /dev/null\n+++ b/x\0y\n@@ -0,0 +1 @@\n+x\n",
    ],
)
def test_absolute_or_hidden_path_is_refused(scene: Scene, diff: bytes) -> None:
    refused(scene, diff, "diff.path")


@pytest.mark.parametrize("mode", ["120000", "160000", "060000", "020666", "100000", "040000"])
def test_anything_but_a_regular_file_is_refused(scene: Scene, mode: str) -> None:
    refused(scene, new_file("x", mode), "diff.mode")


def test_link_made_by_real_git_is_refused(scene: Scene) -> None:
    os.symlink("/etc/passwd", scene.root / "link")
    refused(scene, scene.diff(), "diff.mode")


def test_change_of_an_existing_link_is_refused_but_its_deletion_is_not(scene: Scene) -> None:
    os.symlink("a.py", scene.root / "link")
    scene.save()
    assert only(measure(scene, scene.edit({"link": None}))).status == "deleted"
    os.unlink(scene.root / "link")
    os.symlink("/etc/passwd", scene.root / "link")
    refused(scene, scene.diff(), "diff.mode")
    bare = b"--- a/link\n+++ b/link\n@@ -1 +1 @@\n-a.py\n\\ No newline at end of file\n+/etc\n"
    refused(scene, bare + b"\\ No newline at end of file\n", "diff.mode")


def test_too_much_is_refused(scene: Scene) -> None:
    refused(scene, b"x" * ((8 << 20) + 1), "diff.too_large")
    many = b"".join(new_file(f"f{number}") for number in range(5001))
    refused(scene, many, "diff.too_many_files")
    bomb = b"diff --git a/x b/x\nnew file mode 100644\nGIT binary patch\nliteral 99999999999\n"
    refused(scene, bomb, "diff.too_large")


def test_diff_that_undoes_itself_changes_nothing(scene: Scene) -> None:
    diff = scene.edit({"a.py": BASE["a.py"] + b"x = 1\n"})
    back = b"--- a/a.py\n+++ b/a.py\n@@ -4,3 +4,2 @@\n def f():\n     return 1\n-x = 1\n"
    refused(scene, diff + back, "diff.no_change")
