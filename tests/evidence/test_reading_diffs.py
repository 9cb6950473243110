"""Diffs that are ordinary, however odd they look."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from support.diff_reading import BASE, measure, only, refused
from support.git_scene import Scene
from tipstaff.evidence import paths
from tipstaff.evidence.diff import read
from tipstaff.evidence.repository import Repository


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    return Scene(tmp_path / "project", BASE)


def test_added_lines_are_counted_and_bound_to_the_bytes(scene: Scene) -> None:
    diff = scene.edit({"skills/w/SKILL.md": BASE["skills/w/SKILL.md"] + b"two\nthree\n"})
    patch = measure(scene, diff)
    file = only(patch)
    assert (file.path, file.status, file.added, file.removed) == (
        "skills/w/SKILL.md",
        "modified",
        2,
        0,
    )
    assert (file.additions_only, file.touches_existing_definition) == (True, False)
    assert file.language == "markdown"
    assert patch.base == scene.git("rev-parse", "HEAD").decode().strip()
    assert patch.diff_sha256 != read(Repository(scene.root), diff + b"\n").diff_sha256


def test_replaced_line_is_not_an_addition(scene: Scene) -> None:
    file = only(measure(scene, scene.edit({"a.py": BASE["a.py"].replace(b"1", b"2")})))
    assert (file.additions_only, file.touches_existing_definition) == (False, True)


@pytest.mark.req("G-05")
def test_undeclared_shell_is_found_in_the_added_code(scene: Scene) -> None:
    code = b'import subprocess\nsubprocess.run("x", shell=True)\n'
    patch = measure(scene, scene.edit({"tool.py": code}))
    assert "raw_shell_execution" in patch.found_capabilities


def test_shell_that_was_there_before_is_not_found_in_the_addition(scene: Scene) -> None:
    scene.write({"old.py": b"import os\nos.system('x')\n"})
    scene.save()
    patch = measure(scene, scene.edit({"old.py": b"import os\nos.system('x')\ny = 1\n"}))
    assert patch.found_capabilities == ()


def test_script_that_becomes_executable_is_read_whole(scene: Scene) -> None:
    os.chmod(scene.root / "run.sh", 0o755)
    patch = measure(scene, scene.diff())
    assert (only(patch).mode_changed, only(patch).added, only(patch).removed) == (True, 0, 0)
    assert patch.found_capabilities == ("raw_shell_execution",)


def test_lone_carriage_returns_do_not_shift_the_lines_that_are_read(scene: Scene) -> None:
    scene.write({"old.py": b"#" + b"\r#" * 50 + b"\nimport os\n"})
    scene.save()
    text = (scene.root / "old.py").read_bytes() + b"os.system('x')\n"
    assert "raw_shell_execution" in measure(scene, scene.edit({"old.py": text})).found_capabilities


@pytest.mark.parametrize("head", [b"# coding: utf-7\n", b"# coding: rot13\n", b"x = '\xff'\n"])
def test_python_in_another_encoding_is_unreadable(scene: Scene, head: bytes) -> None:
    patch = measure(scene, scene.edit({"tool.py": head + b"x = 1\n"}))
    assert patch.found_capabilities == ("unreadable_code",)


def test_rename_names_both_paths(scene: Scene) -> None:
    (scene.root / "a.py").rename(scene.root / "b.py")
    file = only(measure(scene, scene.diff("-M")))
    assert (file.status, file.old_path, file.path) == ("renamed", "a.py", "b.py")
    assert file.touches_existing_definition is True


def test_copy_is_a_new_file(scene: Scene) -> None:
    diff = scene.edit({"copy.py": BASE["a.py"]}, "-C", "--find-copies-harder")
    assert b"copy from a.py" in diff
    file = only(measure(scene, diff))
    assert (file.path, file.status, file.additions_only) == ("copy.py", "added", True)


def test_deletion_touches_what_exists(scene: Scene) -> None:
    file = only(measure(scene, scene.edit({"a.py": None})))
    assert (file.status, file.added, file.removed) == ("deleted", 0, 5)
    assert (file.additions_only, file.touches_existing_definition) == (False, True)


def test_binary_patch_is_read(scene: Scene) -> None:
    file = only(measure(scene, scene.edit({"blob.bin": b"\0\1\3" * 200})))
    assert (file.binary, file.added, file.removed, file.additions_only) == (True, 0, 0, False)


def test_program_hidden_in_a_binary_is_unreadable(scene: Scene) -> None:
    patch = measure(scene, scene.edit({"tool": b"\x7fELF\0\0"}))
    assert patch.found_capabilities == ("unreadable_code",)


def test_prose_in_an_old_encoding_is_no_code(scene: Scene) -> None:
    assert measure(scene, scene.edit({"notes.txt": b"caf\xe9\n"})).found_capabilities == ()


def test_crlf_file_keeps_its_line_ends(scene: Scene) -> None:
    diff = scene.edit({"crlf.txt": b"one\r\ntwo\r\nthree\r\n"})
    patch = measure(scene, diff)
    assert only(patch).added == 1
    repository = Repository(scene.root)
    assert repository.blob(patch.tree, "crlf.txt") == b"one\r\ntwo\r\nthree\r\n"


def test_diff_saved_with_crlf_throughout_still_applies(scene: Scene) -> None:
    diff = scene.edit({"a.py": BASE["a.py"] + b"x = 1\n"}).replace(b"\n", b"\r\n")
    patch = measure(scene, diff)
    assert Repository(scene.root).blob(patch.tree, "a.py") == BASE["a.py"] + b"x = 1\n"


def test_attributes_of_the_user_change_no_fact(scene: Scene) -> None:
    diff = scene.edit({"a.py": BASE["a.py"] + b"x = 1\n"})
    expected = measure(scene, diff)
    rules = b"*.py -diff eol=crlf filter=evil whitespace=cr-at-eol\n*.bin diff\n"
    scene.write({".gitattributes": rules, ".git/info/attributes": rules})
    scene.git("config", "filter.evil.smudge", "touch smudged")
    scene.git("config", "filter.evil.clean", "touch cleaned")
    scene.git("config", "diff.renames", "copies")
    scene.git("config", "diff.noprefix", "true")
    scene.git("config", "diff.interHunkContext", "9")
    scene.git("config", "apply.whitespace", "fix")
    assert measure(scene, diff) == expected
    assert not (scene.root / "smudged").exists()


def test_dirty_tree_and_staged_changes_are_left_alone(scene: Scene) -> None:
    diff = scene.edit({"a.py": BASE["a.py"] + b"x = 1\n"})
    scene.write({"a.py": b"dirty", "staged.py": b"1\n", "loose.py": b"2\n"})
    scene.git("add", "staged.py")
    assert [file.path for file in measure(scene, diff).files] == ["a.py"]


def test_detached_head_works(scene: Scene) -> None:
    diff = scene.edit({"new.md": b"x\n"})
    scene.git("checkout", "-q", "--detach")
    assert only(measure(scene, diff)).status == "added"


def test_linked_worktree_works(scene: Scene, tmp_path: Path) -> None:
    diff = scene.edit({"new.md": b"x\n"})
    scene.git("worktree", "add", "-q", "-b", "side", str(tmp_path / "side"))
    before = scene.fingerprint()
    patch = read(Repository.open(tmp_path / "side" / "skills"), diff)
    assert (only(patch).path, scene.fingerprint()) == ("new.md", before)


NAMES = [
    b"with space.md",
    b'quote".md',
    b"back\\slash.md",
    b"new\nline.md",
    b"tab\t.md",
    b"caf\xc3\xa9.md",
    b"latin\xe9.md",
    b" lead.md",
    b"b/in b/b.md",
    b"-dash.md",
    b"a -> b.md",
    b"trail /x.md",
    b"dev/null",
]


@pytest.mark.parametrize("name", NAMES)
def test_odd_name_is_ordinary(scene: Scene, name: bytes) -> None:
    file = only(measure(scene, scene.edit({name: b"x\n"})))
    assert paths.raw(file.path) == name
    file.model_dump_json().encode("utf-8")


@pytest.mark.parametrize("name", [name for name in NAMES if not name.startswith(b"b/")])
def test_odd_name_without_a_prefix_is_ordinary(scene: Scene, name: bytes) -> None:
    file = only(measure(scene, scene.edit({name: b"x\n"}, "--no-prefix")))
    assert paths.raw(file.path) == name


def test_folder_that_looks_like_a_prefix_is_ambiguous_without_one(scene: Scene) -> None:
    refused(scene, scene.edit({"b/x.md": b"x\n"}, "--no-prefix"), "diff.ambiguous")


# Git itself cannot read its own mode change of a name with a slash behind a space.
@pytest.mark.parametrize("name", [name for name in NAMES if b" /" not in name])
def test_odd_name_is_ordinary_when_only_the_mode_changes(scene: Scene, name: bytes) -> None:
    scene.write({name: b"x\n"})
    scene.save()
    os.chmod(os.path.join(os.fsencode(scene.root), name), 0o755)
    file = only(measure(scene, scene.diff()))
    assert (paths.raw(file.path), file.mode_changed) == (name, True)


@pytest.mark.parametrize("name", NAMES)
def test_odd_name_is_ordinary_in_a_rename(scene: Scene, name: bytes) -> None:
    target = os.path.join(os.fsencode(scene.root), name)
    os.makedirs(os.path.dirname(target), exist_ok=True)
    os.rename(scene.root / "a.py", target)
    file = only(measure(scene, scene.diff("-M")))
    assert (file.old_path, paths.raw(file.path)) == ("a.py", name)


def test_near_names_never_share_one_spelling() -> None:
    names = [b"a\\xff", b"a\xff", b"a\\\\xff", b"a\\", b"\xc3\xa9", b"e\xcc\x81", b"\xe9", b"\\xe9"]
    assert len({paths.shown(name) for name in names}) == len(names)
    assert [paths.raw(paths.shown(name)) for name in names] == names


def test_diff_without_git_headers_is_read(scene: Scene) -> None:
    diff = b"--- a/a.py\t2020-01-01\n+++ b/a.py\t2020-01-02\n@@ -4,2 +4,3 @@\n def f():\n     return 1\n+\n"
    assert only(measure(scene, diff)).path == "a.py"


def test_diff_without_prefixes_is_read_at_its_full_path(scene: Scene) -> None:
    diff = b"--- skills/w/SKILL.md\n+++ skills/w/SKILL.md\n@@ -1,3 +1,4 @@\n # W\n \n one\n+two\n"
    assert only(measure(scene, diff)).path == "skills/w/SKILL.md"


def test_diff_that_fits_two_places_is_ambiguous(scene: Scene) -> None:
    refused(scene, b"--- /dev/null\n+++ one/new.md\n@@ -0,0 +1 @@\n+x\n", "diff.ambiguous")


def test_headers_inside_a_hunk_are_content(scene: Scene) -> None:
    text = b"-- /etc/x\n++ /etc/x\ndiff --git a/../x b/../x\nnew file mode 120000\n"
    file = only(measure(scene, scene.edit({"new.md": text})))
    assert (file.path, file.added) == ("new.md", 4)
    scene.write({"new.md": text})
    scene.save()
    assert only(measure(scene, scene.edit({"new.md": None}))).removed == 4


def test_mail_around_a_diff_is_passed_over(scene: Scene) -> None:
    diff = scene.edit({"new.md": b"x\n"})
    mail = b"From 1 Mon Sep 17 00:00:00 2001\nSubject: x\n\ntext\n---\n new.md | 1 +\n\n"
    assert only(measure(scene, mail + diff + b"-- \n2.39.5\n")).path == "new.md"


@pytest.mark.parametrize(
    ("before", "after", "touches"),
    [
        (b'{"a": 1}', b'{\n"b": 2,\n"a": 1}', False),
        (b'{"a": 1}', b'{"a": 2}', True),
        (b'{"a": [1]}', b'{"a": [1, 2]}', True),
        (b'{"a": 1}', b'{"a": 1, "__b": 2}', False),
        (b'{"__a": 1}', b'{"__a": 2}', True),
        (b'{"a": 1}', b'{"a": true}', True),
        (b'{"a": {"b": 1}}', b'{"a": {"b": 1, "c": {}}}', False),
        (b'{"a": 1}', b'{"a": 1, "a": 1}', None),
        (b'{"a": 1}', b'{"a": 1', None),
    ],
)
def test_json_is_touched_by_anything_but_new_keys(
    scene: Scene, before: bytes, after: bytes, touches: bool | None
) -> None:
    scene.write({"y.json": before})
    scene.save()
    file = only(measure(scene, scene.edit({"y.json": after})))
    assert file.touches_existing_definition is touches
