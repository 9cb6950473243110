"""Git by plumbing: what is opened, refused, written out, committed and branched."""

from __future__ import annotations

import os
import stat
import subprocess
from pathlib import Path

import pytest

from support.git_scene import Scene
from tipstaff.errors import ContractError, Error, EvidenceError
from tipstaff.evidence.repository import Repository


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    return Scene(tmp_path / "project", {"a.txt": b"one\n", "d/b.txt": b"two\n"})


def refused(start: Path) -> Error:
    with pytest.raises(ContractError) as caught:
        Repository.open(start)
    assert caught.value.fix
    return caught.value


def test_folder_outside_any_repository_is_refused(tmp_path: Path) -> None:
    assert refused(tmp_path).code == "repository.missing"
    assert refused(tmp_path / "absent").code == "repository.missing"


def test_bare_repository_is_refused(tmp_path: Path, scene: Scene) -> None:
    subprocess.run(["git", "clone", "-q", "--bare", scene.root, tmp_path / "bare"], check=True)
    assert refused(tmp_path / "bare").code == "repository.bare"
    assert refused(scene.root / ".git").code == "repository.bare"


def test_repository_without_commits_is_refused(tmp_path: Path) -> None:
    Scene(tmp_path / "empty")
    assert refused(tmp_path / "empty").code == "repository.no_commits"


@pytest.mark.parametrize("revision", ["nowhere", "", "--help", "HEAD^9", "HEAD\n", "HEAD:a.txt"])
def test_unknown_base_is_refused(scene: Scene, revision: str) -> None:
    with pytest.raises(ContractError) as caught:
        Repository.open(scene.root).resolve(revision)
    assert caught.value.code == "repository.unknown_revision"


def test_variables_of_the_caller_lead_git_nowhere_else(
    scene: Scene, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = Scene(tmp_path / "other", {"x": b""})
    monkeypatch.setenv("GIT_DIR", str(other.root / ".git"))
    monkeypatch.setenv("GIT_INDEX_FILE", str(tmp_path / "index"))
    monkeypatch.setenv("GIT_CONFIG_COUNT", "1")
    monkeypatch.setenv("GIT_CONFIG_KEY_0", "core.bare")
    monkeypatch.setenv("GIT_CONFIG_VALUE_0", "true")
    repository = Repository.open(scene.root / "d")
    assert repository.root == scene.root.resolve()
    assert repository.blob("HEAD", "d/b.txt") == b"two\n"


def test_submodule_checkout_is_a_repository_of_its_own(scene: Scene, tmp_path: Path) -> None:
    inner = Scene(tmp_path / "inner", {"i.txt": b"i\n"})
    scene.git(
        "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(inner.root), "sub"
    )
    scene.save()
    below = Repository.open(scene.root / "sub")
    assert (below.root.name, below.blob("HEAD", "i.txt")) == ("sub", b"i\n")
    skipped = Repository.open(scene.root).extract("HEAD", tmp_path / "out")
    assert skipped == ("sub",)
    assert not (tmp_path / "out" / "sub").exists()


def test_extraction_is_raw_and_keeps_modes_and_links(scene: Scene, tmp_path: Path) -> None:
    names = [b"sp ace", b"new\nline", b"latin\xe9", b"deep/er/x"]
    scene.write(dict.fromkeys(names, b"one\r\n"))
    scene.write(
        {".gitattributes": b"* text eol=crlf ident export-ignore filter=evil\n", "run": b""}
    )
    scene.git("config", "filter.evil.smudge", "touch smudged; cat")
    os.chmod(scene.root / "run", 0o755)
    os.symlink("/etc/passwd", scene.root / "link")
    os.symlink("d", scene.root / "folder-link")
    scene.git("-c", "core.attributesFile=/dev/null", "add", "-A")
    scene.git("commit", "-q", "-m", "x")
    tree = scene.git("ls-tree", "-r", "-z", "HEAD").split(b"\0")
    before = scene.fingerprint()
    out = tmp_path / "out"
    assert Repository.open(scene.root).extract("HEAD", out) == ()
    written = [path for path in out.rglob("*") if path.is_symlink() or path.is_file()]
    assert len(written) == len(tree) - 1
    for line in filter(None, tree):
        facts, name = line.split(b"\t", 1)
        mode, _, oid = facts.decode().split()
        path = Path(os.fsdecode(os.path.join(os.fsencode(out), name)))
        data = os.fsencode(os.readlink(path)) if path.is_symlink() else path.read_bytes()
        assert data == scene.git("cat-file", "blob", oid)
        assert path.is_symlink() == (mode == "120000")
        if not path.is_symlink():
            assert stat.S_IMODE(path.stat().st_mode) == (0o755 if mode == "100755" else 0o644)
    assert not (out / "smudged").exists()
    assert scene.fingerprint() == before


def test_tree_that_writes_through_its_own_link_is_refused(scene: Scene, tmp_path: Path) -> None:
    blob = scene.git("hash-object", "-w", "--stdin", stdin=b"x").decode().strip()
    outside = tmp_path / "outside"
    outside.mkdir()
    link = scene.git("hash-object", "-w", "--stdin", stdin=os.fsencode(outside)).decode().strip()
    inner = scene.git("mktree", stdin=f"100644 blob {blob}\tpwned\n".encode()).decode().strip()
    raw = b"120000 a\0" + bytes.fromhex(link) + b"40000 a\0" + bytes.fromhex(inner)
    tree = scene.git("hash-object", "-t", "tree", "-w", "--literally", "--stdin", stdin=raw)
    with pytest.raises(ContractError):
        Repository.open(scene.root).extract(tree.decode().strip(), tmp_path / "out")
    assert list(outside.iterdir()) == []


def test_tree_that_names_a_folder_above_is_refused(scene: Scene, tmp_path: Path) -> None:
    blob = scene.git("hash-object", "-w", "--stdin", stdin=b"x").decode().strip()
    for name in (b"..", b".git", b".GIT"):
        inner = b"100644 x\0" + bytes.fromhex(blob)
        one = scene.git("hash-object", "-t", "tree", "-w", "--literally", "--stdin", stdin=inner)
        raw = b"40000 " + name + b"\0" + bytes.fromhex(one.decode().strip())
        tree = scene.git("hash-object", "-t", "tree", "-w", "--literally", "--stdin", stdin=raw)
        with pytest.raises(ContractError) as caught:
            Repository.open(scene.root).extract(tree.decode().strip(), tmp_path / "out")
        assert caught.value.code == "repository.path"
        assert not (tmp_path / "x").exists()


def test_folder_that_holds_something_is_not_written_into(scene: Scene, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "mine").write_text("x")
    with pytest.raises(ContractError) as caught:
        Repository.open(scene.root).extract("HEAD", tmp_path / "out")
    assert caught.value.code == "repository.destination"


@pytest.mark.req("AU-05")
def test_branch_that_exists_is_not_overwritten_but_gets_a_suffix(scene: Scene) -> None:
    repository = Repository.open(scene.root)
    head = repository.resolve("HEAD")
    tree = repository.run("rev-parse", "HEAD^{tree}").decode().strip()
    made = repository.commit(tree, head, "New\n\nTipstaff-Decision: 1\n", author="alice@host")
    before = scene.fingerprint()
    names = [repository.create_branch("tipstaff/x/1", commit) for commit in (head, made, made)]
    assert names == ["tipstaff/x/1", "tipstaff/x/1-2", "tipstaff/x/1-3"]
    assert repository.resolve("tipstaff/x/1") == head
    assert repository.resolve("tipstaff/x/1-2") == made
    assert scene.git("symbolic-ref", "HEAD") == b"refs/heads/main\n"
    assert repository.resolve("main") == head
    for name, commit in zip(names, (head, made, made), strict=True):
        assert repository.delete_branch(name, commit)
    after = scene.fingerprint()
    assert {key: after[key] for key in before} == before


def test_branch_that_moved_or_is_checked_out_is_not_deleted(scene: Scene) -> None:
    repository = Repository.open(scene.root)
    head = repository.resolve("HEAD")
    name = repository.create_branch("x", head)
    assert not repository.delete_branch(name, "1" * 40)
    assert not repository.delete_branch("main", head)
    assert repository.resolve("x") == head


def test_name_that_is_no_branch_is_refused(scene: Scene) -> None:
    repository = Repository.open(scene.root)
    for name in ("", "a..b", "a b", "x.lock", "/x"):
        with pytest.raises(ContractError) as caught:
            repository.create_branch(name, repository.resolve("HEAD"))
        assert caught.value.code == "repository.branch_name"


def test_branch_below_another_branch_is_an_error_and_no_loop(scene: Scene) -> None:
    repository = Repository.open(scene.root)
    repository.create_branch("tipstaff", repository.resolve("HEAD"))
    with pytest.raises(EvidenceError):
        repository.create_branch("tipstaff/x", repository.resolve("HEAD"))


def test_commit_carries_author_message_and_parent_without_hooks(scene: Scene) -> None:
    for hook in ("pre-commit", "commit-msg", "reference-transaction", "post-commit"):
        path = scene.root / ".git" / "hooks" / hook
        path.parent.mkdir(exist_ok=True)
        path.write_text("#!/bin/sh\ntouch hooked\nexit 1\n")
        path.chmod(0o755)
    scene.git("config", "commit.gpgSign", "true")
    repository = Repository.open(scene.root)
    tree = repository.run("rev-parse", "HEAD^{tree}").decode().strip()
    author = "Ann <x> Evil\nparent 0 <ann@example.com>"
    commit = repository.commit(tree, repository.resolve("HEAD"), "Sub\n\nBödy\n", author=author)
    repository.create_branch("b", commit)
    shown = scene.git("log", "-1", "--format=%an|%ae|%s|%b|%P", commit).decode()
    assert shown.strip().endswith(f"|Sub|Bödy\n|{repository.resolve('HEAD')}")
    assert not (scene.root / "hooked").exists()


def test_blob_is_the_stored_file_or_none(scene: Scene) -> None:
    os.symlink("a.txt", scene.root / "link")
    scene.save()
    repository = Repository.open(scene.root)
    assert repository.blob("HEAD", "a.txt") == b"one\n"
    assert repository.blob("HEAD", "absent") is None
    assert repository.blob("HEAD", "d") is None
    assert repository.blob("HEAD", "link") is None
    assert repository.blob("HEAD", "*.txt") is None


def test_push_makes_a_new_branch_and_overwrites_none(scene: Scene, tmp_path: Path) -> None:
    remote = tmp_path / "remote"
    subprocess.run(["git", "init", "-q", "--bare", remote], check=True)
    scene.git("remote", "add", "origin", str(remote))
    repository = Repository.open(scene.root)
    assert repository.remote_url("origin") == str(remote)
    assert repository.remote_url("absent") is None
    assert repository.remote_url("--help") is None
    head = repository.resolve("HEAD")
    repository.push("origin", head, "tipstaff/x")
    tree = repository.run("rev-parse", "HEAD^{tree}").decode().strip()
    other = repository.commit(tree, head, "x", author="a")
    with pytest.raises(EvidenceError) as caught:
        repository.push("origin", other, "tipstaff/x")
    assert caught.value.code == "git.push"
    remote_head = ["git", "-C", remote, "rev-parse", "tipstaff/x"]
    assert subprocess.check_output(remote_head).decode().strip() == head


def test_machine_without_git_is_told_so(
    scene: Scene, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert refused(scene.root).code == "git.missing"
