"""A diff or a repository that is none: exit 2, named, with what to do, and nothing written."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from support.repositories import git, make_repository
from support.workshop import Workshop, contents

GOOD = "--- a/README.md\n+++ b/README.md\n@@ -1 +1,2 @@\n # Skills\n+More.\n"
NEW = "--- /dev/null\n+++ b/{}\n@@ -0,0 +1 @@\n+x\n"
MODE = "diff --git a/x b/x\nnew file mode {}\n--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+README.md\n"

DIFFS: dict[str, tuple[str | bytes, str]] = {
    "nothing": ("", "diff.empty"),
    "blanks": ("\n\n  \n", "diff."),
    "prose": ("please make it better\n", "diff."),
    "a page": ("<html></html>", "diff."),
    "bytes": (bytes(range(256)), "diff."),
    "a header only": ("--- a/README.md\n+++ b/README.md\n", "diff."),
    "no change": ("diff --git a/README.md b/README.md\n", "diff."),
    "half a hunk": (GOOD[:-8], "diff."),
    "a wrong count": (GOOD.replace("+1,2", "+1,9"), "diff."),
    "another text": (GOOD.replace("# Skills", "# Other"), "diff.does_not_apply"),
    "another file": (GOOD.replace("README", "ABSENT"), "diff.does_not_apply"),
    "a file that is there": (NEW.format("README.md"), "diff.does_not_apply"),
    "a folder above": (NEW.format("../evil.md"), "diff.path"),
    "a folder above, deeper": (NEW.format("skills/../../evil.md"), "diff.path"),
    "an absolute path": ("--- /dev/null\n+++ /etc/evil\n@@ -0,0 +1 @@\n+x\n", "diff."),
    "git's own folder": (NEW.format(".git/hooks/post-commit"), "diff.path"),
    "git's own folder in capitals": (NEW.format("sub/.GIT/config"), "diff.path"),
    "a symlink": (MODE.format("120000"), "diff.mode"),
    "a submodule": (MODE.format("160000"), "diff."),
    "a device": (MODE.format("020666"), "diff."),
    "a strange mode": (MODE.format("100666"), "diff."),
    "a rename out": (
        "diff --git a/README.md b/../x\nsimilarity index 100%\nrename from README.md\nrename to ../x\n",
        "diff.",
    ),
}


@pytest.mark.parametrize("name", DIFFS)
def test_diff_that_is_none_is_refused_and_nothing_is_written(workshop: Workshop, name: str) -> None:
    diff, code = DIFFS[name]
    data = diff.encode() if isinstance(diff, str) else diff
    before = (contents(workshop.state), contents(workshop.root / ".git", without=("objects",)))
    refused = workshop.propose_cli(data, "--json")
    assert refused.code == 2, refused.stdout
    told = refused.json["error"]
    assert told["code"].startswith(code), told
    assert told["message"]
    assert told["fix"]
    assert told["field"] or told["file"], told
    assert told["fix"] in refused.stderr
    after = (contents(workshop.state), contents(workshop.root / ".git", without=("objects",)))
    assert after == before


def test_good_diff_is_no_error(workshop: Workshop) -> None:
    assert workshop.propose_cli(GOOD.encode()).code == 1
    assert len(workshop.branches()) == 1


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (["--diff", "absent.diff"], "absent.diff"),
        (["--diff", "."], "--diff"),
        (["--diff", "-", "--base", "no-such-branch"], "no-such-branch"),
        (["--diff", "-", "--base", "-x"], "-x"),
        (["--diff", "-", "--base", "HEAD:README.md"], "README.md"),
        (["--diff", "-", "--tests", ""], "tests"),
        (["--diff", "-", "--tests", "pytest && rm -rf ."], "&"),
        (["--diff", "-", "--tests", "'pytest"], "tests"),
        (["--diff", "-", "--tests", "no-such-program-anywhere"], "no-such-program-anywhere"),
        (["--diff", "-", "--request-capability", "Not A Name"], "capabilit"),
        (["--diff", "-", "--subject", ""], "subject"),
    ],
)
def test_option_that_is_wrong_is_named(workshop: Workshop, options: list[str], named: str) -> None:
    before = contents(workshop.state)
    answer = workshop.run(
        "change", "propose", "--class", "heal_additive", *options, "--json", stdin=GOOD.encode()
    )
    assert answer.code == 2, answer.stdout
    assert named in answer.stderr
    assert answer.json["error"]["fix"]
    assert contents(workshop.state) == before
    assert workshop.branches() == []


def empty(root: Path) -> Path:
    git(root.parent, "init", "-q", str(root))
    return root


def bare(root: Path) -> Path:
    git(root.parent, "init", "-q", "--bare", str(root))
    return root


def no_repository(root: Path) -> Path:
    root.mkdir()
    return root


def broken(root: Path) -> Path:
    make_repository(root)
    (root / ".git/HEAD").write_text("nonsense\n")
    return root


def a_file_for_git(root: Path) -> Path:
    root.mkdir()
    (root / ".git").write_text("gitdir: /nowhere\n")
    return root


@pytest.mark.parametrize("make", [empty, bare, no_repository, broken, a_file_for_git])
def test_repository_that_is_none_is_refused_and_nothing_is_written(
    workshop: Workshop, tmp_path: Path, make: Callable[[Path], Path]
) -> None:
    root = make(tmp_path / "other")
    before = contents(root, without=())
    other = Workshop(root)
    refused = other.propose_cli(GOOD.encode(), "--json")
    assert refused.code == 2, refused.stdout + refused.stderr
    told = refused.json["error"]
    assert told["code"].startswith("repository.")
    assert told["file"]
    assert told["fix"]
    assert contents(root, without=()) == before


def test_repository_of_another_user_is_refused(workshop: Workshop, tmp_path: Path) -> None:
    root = make_repository(tmp_path / "other")
    if subprocess.run(["chown", "-R", "12345", root], check=False).returncode != 0:
        pytest.skip("only root can give a folder away")
    refused = Workshop(root).propose_cli(GOOD.encode(), "--json")
    assert refused.code == 2
    assert refused.json["error"]["code"] == "repository.untrusted"
    subprocess.run(["chown", "-R", "0", root], check=True)


CONFIGS: dict[str, tuple[str, str]] = {
    "a list": ("- a\n", ""),
    "a word": ("yes\n", ""),
    "nothing": ("", ""),
    "two documents": ("schema_version: 1\n---\nschema_version: 1\n", ""),
    "broken YAML": ("schema_version: [1\n", ""),
    "a tab": ("schema_version: 1\nautonomy:\n\taudit: auto\n", ""),
    "an unknown key": ("schema_version: 1\nautonomi: {}\n", "autonomi"),
    "an unknown inner key": ("schema_version: 1\nsandbox: {profil: strict}\n", "sandbox.profil"),
    "a key twice": ("schema_version: 1\nautonomy: {}\nautonomy: {}\n", ""),
    "no version": ("autonomy: {}\n", "schema_version"),
    "another version": ("schema_version: 2\n", "schema_version"),
    "a version in words": ("schema_version: '1'\n", "schema_version"),
    "a profile in capitals": ("schema_version: 1\nsandbox: {profile: Strict}\n", "sandbox.profile"),
    "a number for a switch": ("schema_version: 1\npause: {hard: 1}\n", "pause.hard"),
    "a word for a switch": ("schema_version: 1\npause: {hard: yes}\n", "pause.hard"),
    "a word for a list": ("schema_version: 1\npaths: {allowed: '**'}\n", "paths.allowed"),
    "no value": ("schema_version: 1\nautonomy:\n", "autonomy"),
    "a limit below one": (
        "schema_version: 1\nsandbox: {limits: {cpu_s: 0}}\n",
        "sandbox.limits.cpu_s",
    ),
    "a float limit": (
        "schema_version: 1\nsandbox: {limits: {cpu_s: 1.5}}\n",
        "sandbox.limits.cpu_s",
    ),
    "an object from Python": ("schema_version: 1\npaths: !!python/object:os.system {}\n", ""),
}


@pytest.mark.req("T-14", "G-04", "E-05")
@pytest.mark.parametrize("file", ["tipstaff.yaml", "tipstaff.local.yaml"])
@pytest.mark.parametrize("name", CONFIGS)
def test_configuration_that_is_none_is_refused_by_file_and_field(
    workshop: Workshop, name: str, file: str
) -> None:
    text, field = CONFIGS[name]
    (workshop.root / file).write_text(text)
    before = contents(workshop.state)
    refused = workshop.propose_cli(GOOD.encode(), "--json")
    assert refused.code == 2
    told = refused.json["error"]
    assert told["file"].endswith(file)
    assert (told["field"] or "") == field
    assert told["fix"]
    assert contents(workshop.state) == before
    assert workshop.branches() == []


@pytest.mark.req("T-14")
def test_configuration_that_is_not_text_is_refused(workshop: Workshop) -> None:
    for data in (b"\xff\xfe\x00", b"schema_version: 1 # \xe9\n"):
        (workshop.root / "tipstaff.yaml").write_bytes(data)
        assert workshop.propose_cli(GOOD.encode()).code == 2
    (workshop.root / "tipstaff.yaml").unlink()
    (workshop.root / "tipstaff.yaml").mkdir()
    assert workshop.propose_cli(GOOD.encode()).code == 2


def test_state_folder_that_cannot_be_made_is_named(
    workshop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = workshop.root / "README.md" / "state"
    monkeypatch.setenv("TIPSTAFF_STATE_DIR", str(place))
    refused = workshop.propose_cli(GOOD.encode(), "--json")
    assert refused.code in (2, 3)
    assert "README.md" in str(refused.json["error"]["file"])
    assert workshop.branches() == []


def test_fresh_repository_gets_no_state_from_a_bad_diff(workshop: Workshop, tmp_path: Path) -> None:
    other = Workshop(make_repository(tmp_path / "fresh"))
    assert other.propose_cli(b"no diff").code == 2
    assert not other.state.exists()
