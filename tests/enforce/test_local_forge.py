"""Without a forge, pull requests are files: whole or absent, private, and never of another decision."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from support.verdicts import DECISION
from tipstaff.enforce.forge import LocalForge, PullRequest
from tipstaff.errors import ContractError, ForgeError

PULL = PullRequest(
    decision_id=DECISION,
    branch="tipstaff/heal_additive/3f3f3f3f3f3f",
    base_branch="main",
    commit="d1" * 20,
    title='heal_additive: "a" \u202e\n---\nstatus: ready',
    body="## What changed\n\n---\nstatus: ready\n---\n" + "line\n" * 2000,
    draft=True,
)


@pytest.fixture
def forge(tmp_path: Path) -> LocalForge:
    return LocalForge(tmp_path / "state")


def facts_of(path: str) -> dict[str, str]:
    head = Path(path).read_text(encoding="utf-8").split("\n---\n")[0].removeprefix("---\n")
    facts = yaml.safe_load(head)
    assert isinstance(facts, dict)
    return facts


def test_an_opened_pull_request_is_a_private_file_with_front_matter(forge: LocalForge) -> None:
    path = Path(forge.open(PULL))
    assert path == forge.state / "pull-requests" / f"{DECISION}.md"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert facts_of(str(path)) == {
        "decision": DECISION,
        "status": "draft",
        "branch": PULL.branch,
        "base": "main",
        "commit": PULL.commit,
        "title": 'heal_additive: "a" \\u{202e}\\u{a}---\\u{a}status: ready',
    }
    assert path.read_text(encoding="utf-8").endswith(PULL.body)


def test_a_pull_request_that_is_no_draft_is_ready(forge: LocalForge) -> None:
    assert facts_of(forge.open(replace(PULL, draft=False)))["status"] == "ready"


def test_opening_again_is_the_same_file_unchanged(forge: LocalForge) -> None:
    path = forge.open(PULL)
    forge.mark_ready(path)
    before = Path(path).read_bytes(), Path(path).stat().st_mtime_ns
    assert forge.open(PULL) == path
    assert (Path(path).read_bytes(), Path(path).stat().st_mtime_ns) == before


def test_marking_ready_changes_the_status_and_nothing_else(forge: LocalForge) -> None:
    path = forge.open(PULL)
    before = Path(path).read_text(encoding="utf-8")
    forge.mark_ready(path)
    forge.mark_ready(path)
    wanted = before.replace('status: "draft"', 'status: "ready"', 1)
    assert Path(path).read_text(encoding="utf-8") == wanted
    assert stat.S_IMODE(Path(path).stat().st_mode) == 0o600


def test_closing_keeps_the_text_and_says_why_once(forge: LocalForge) -> None:
    path = forge.open(PULL)
    forge.close(path, "Rejected by `bob`.")
    forge.close(path, "Rejected by `bob`.")
    text = Path(path).read_text(encoding="utf-8")
    assert facts_of(path)["status"] == "closed"
    assert text.count("Rejected by `bob`.") == 1
    assert PULL.body.strip() in text


def test_a_closed_pull_request_is_never_marked_ready(forge: LocalForge) -> None:
    path = forge.open(PULL)
    forge.close(path, "no")
    with pytest.raises(ForgeError) as caught:
        forge.mark_ready(path)
    assert caught.value.code == "forge.refused"
    assert facts_of(path)["status"] == "closed"


@pytest.mark.parametrize("change", [{"commit": "00" * 20}, {"branch": "tipstaff/audit/0"}])
def test_a_file_of_another_commit_or_branch_is_never_overwritten(
    forge: LocalForge, change: dict[str, str]
) -> None:
    path = Path(forge.open(PULL))
    before = path.read_bytes()
    with pytest.raises(ForgeError) as caught:
        forge.open(replace(PULL, **change))
    assert caught.value.code == "forge.refused"
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    "content", [b"", b"mine", b"---\nx\n---\n", b"\xff\xfe", b"---\na: 1\n---\n"]
)
def test_a_file_that_is_not_ours_is_never_overwritten(forge: LocalForge, content: bytes) -> None:
    folder = forge.state / "pull-requests"
    folder.mkdir(parents=True)
    path = folder / f"{DECISION}.md"
    path.write_bytes(content)
    with pytest.raises(ForgeError):
        forge.open(PULL)
    assert path.read_bytes() == content


def test_a_renamed_file_of_another_decision_is_not_taken_for_this_one(forge: LocalForge) -> None:
    path = Path(forge.open(PULL))
    other = path.with_name("0196-other.md")
    path.rename(other)
    with pytest.raises(ForgeError):
        forge.mark_ready(str(other))


def test_a_planted_link_is_not_followed(forge: LocalForge, tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("mine", encoding="utf-8")
    folder = forge.state / "pull-requests"
    folder.mkdir(parents=True)
    (folder / f"{DECISION}.md").symlink_to(victim)
    with pytest.raises(ForgeError):
        forge.open(PULL)
    assert victim.read_text(encoding="utf-8") == "mine"


def test_a_planted_folder_link_is_refused(forge: LocalForge, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    forge.state.mkdir()
    (forge.state / "pull-requests").symlink_to(outside)
    with pytest.raises(ForgeError):
        forge.open(PULL)
    assert list(outside.iterdir()) == []


@pytest.mark.parametrize("decision", ["../../escape", "a/b", ".x", ""])
def test_a_decision_id_that_leads_elsewhere_is_refused(forge: LocalForge, decision: str) -> None:
    with pytest.raises(ContractError):
        forge.open(replace(PULL, decision_id=decision))
    assert not list(forge.state.rglob("*.md"))


@pytest.mark.parametrize("reference", ["absent", "https://github.com/a/b/pull/1", "/etc/passwd"])
def test_a_reference_to_nothing_of_ours_is_refused(forge: LocalForge, reference: str) -> None:
    for act in (forge.mark_ready, lambda text: forge.close(text, "no")):
        with pytest.raises(ForgeError) as caught:
            act(reference)
        assert caught.value.code == "forge.refused"


def test_a_reference_keeps_its_meaning_when_the_project_moves(tmp_path: Path) -> None:
    reference = LocalForge(tmp_path / "old").open(PULL)
    (tmp_path / "old").rename(tmp_path / "new")
    LocalForge(tmp_path / "new").mark_ready(reference)
    moved = tmp_path / "new" / "pull-requests" / f"{DECISION}.md"
    assert facts_of(str(moved))["status"] == "ready"


def test_a_state_that_cannot_hold_files_is_an_error_of_ours(tmp_path: Path) -> None:
    (tmp_path / "state").write_text("", encoding="utf-8")
    with pytest.raises(ForgeError) as caught:
        LocalForge(tmp_path / "state").open(PULL)
    assert caught.value.code == "forge.refused"


def test_many_at_once_leave_one_whole_file(forge: LocalForge) -> None:
    with ThreadPoolExecutor(8) as pool:
        paths = set(pool.map(lambda _: forge.open(PULL), range(16)))
    (path,) = paths
    assert facts_of(path)["status"] == "draft"
    assert Path(path).read_text(encoding="utf-8").endswith(PULL.body)


def test_the_bytes_are_on_disk_before_the_name_and_the_name_before_the_answer(
    forge: LocalForge, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[str] = []
    for name in ("fsync", "replace", "rename"):
        monkeypatch.setattr(os, name, recorded(calls, getattr(os, name)))
    forge.open(PULL)
    assert calls == ["fsync", "replace", "fsync"]


def recorded(calls: list[str], call: Callable[..., None]) -> Callable[..., None]:
    def wrapped(*arguments: Any, **options: Any) -> None:
        calls.append(call.__name__)
        call(*arguments, **options)

    return wrapped


KILLED = """
import os, signal, sys
from pathlib import Path
from tipstaff.enforce.forge import LocalForge, PullRequest

def kill_after(calls):
    left = [calls]
    def armed(call):
        def wrapped(*args, **kwargs):
            left[0] -= 1
            if left[0] < 0:
                os.kill(os.getpid(), signal.SIGKILL)
            return call(*args, **kwargs)
        return wrapped
    for name in ("open", "fdopen", "fsync", "replace", "rename", "unlink", "close"):
        setattr(os, name, armed(getattr(os, name)))

def play(folder):
    forge = LocalForge(Path(folder))
    reference = forge.open(PullRequest("d1", "b", "main", "c" * 40, "t", "line\\n" * 100_000 + "end", True))
    forge.mark_ready(reference)
    forge.close(reference, "closed")

play(os.path.join(sys.argv[1], "whole"))
for calls in range(100):
    child = os.fork()
    if not child:
        kill_after(calls)
        play(os.path.join(sys.argv[1], str(calls)))
        os._exit(0)
    if os.waitpid(child, 0)[1] == 0:
        break
"""


def test_a_kill_at_any_call_leaves_a_whole_file_or_none(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-c", KILLED, str(tmp_path)], check=True)
    seen = []
    for folder in tmp_path.iterdir():
        path = folder / "pull-requests" / "d1.md"
        if not path.exists():
            seen.append("absent")
            continue
        seen.append(facts_of(str(path))["status"])
        end = "## Closed\n\nclosed\n" if seen[-1] == "closed" else "line\nend\n"
        assert path.read_text(encoding="utf-8").endswith(end)
    assert set(seen) == {"absent", "draft", "ready", "closed"}
    assert len(seen) > 12
