"""What the demo shows, act by act."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import time
from pathlib import Path

import augmented
import scene
from scene import Repository
from stage import Stage

_TESTS = "python -m pytest -q golden"
_AGENT = {"TIPSTAFF_NESTED": "1"}


def set_up(stage: Stage, repository: Repository) -> None:
    """From a plain repository to a governed one."""
    stage.act(
        "Set-up",
        "init writes a configuration, a policy overlay with its test, and a CI workflow.",
        "the repository is governed, every part works",
    )
    stage.tipstaff("init", code=0, shows=["wrote tipstaff.yaml"])
    file = repository.root / "tipstaff.yaml"
    text = file.read_text(encoding="utf-8")
    raised = text.replace("heal_additive: propose", "heal_additive: auto-if-tests-pass")
    file.write_text(raised, encoding="utf-8")
    repository.commit("Let additive repairs through when the golden tests pass")
    scene.make_patches(repository, repository.root.parent / "patches")
    stage.say("\nOne line is then raised by hand: heal_additive: auto-if-tests-pass. Committed.")
    stage.tipstaff("doctor", code=0, shows=["isolation", "bubblewrap"])
    stage.tipstaff("tiers", code=0, shows=["auto-if-tests-pass"])


def leave_work_lying_about(repository: Repository) -> dict[str, str]:
    """A dirty tree and a staged file, as people have them; what they look like before the demo."""
    repository.write({"README.md": "# Our skills\n\nhalf a senten", "notes.txt": "staged\n"})
    repository.git("add", "notes.txt")
    return repository.fingerprint()


def perform(stage: Stage, repository: Repository) -> None:
    """The acts, in their order."""
    _additive(stage, repository)
    _not_additive(stage, repository)
    _shell(stage, repository)
    _protected(stage, repository)
    _failing(stage, repository)
    augmented.perform(stage, repository)
    _paused(stage, repository)
    _engine_gone(stage, repository)
    _tampered(stage, repository)


def look_back(stage: Stage, repository: Repository, before: dict[str, str]) -> None:
    """The trail, an explanation, and what became of the user's own work."""
    _trail(stage, repository)
    _explained(stage)
    stage.act(
        "What you were working on",
        "All the while the working tree was dirty and a file was staged.",
        "branch, commit, index and files are as before",
    )
    after = repository.fingerprint()
    for name in before:
        stage.check(f"{name} untouched", before[name] == after[name])
    stage.say("\n$ git branch --list 'tipstaff/*'")
    for branch in repository.branches():
        stage.say(f"  {branch}")


def _additive(stage: Stage, repository: Repository) -> None:
    stage.act(
        "An additive repair, tests green",
        "A new function and a new paragraph. The golden tests run on the patched copy, in a sandbox.",
        "allow: branch, commit, pull request ready",
    )
    stage.show(repository.root.parent / "patches/add-seconds.patch", lines=40)
    said = _propose(stage, "add-seconds", code=0, shows=["allow", "2 passed, 0 failed"])
    branch = _word_after(said, "branch ")
    stage.check("the branch holds one commit", _commits(repository, branch) == 1)
    trailer = repository.git("log", "-1", "--format=%(trailers:key=Tipstaff-Decision)", branch)
    stage.check("the commit names its decision", bool(trailer) and trailer.split()[-1] in said)
    request = Path(_word_after(said, "pull request "))
    stage.show(request, lines=16)
    stage.check("the pull request is ready", 'status: "ready"' in request.read_text())


def _not_additive(stage: Stage, repository: Repository) -> None:
    stage.act(
        "The same class, but it edits what exists",
        "Tests pass too, yet lines were changed: a draft, and a person is asked.",
        "require_approval: draft, then approved by a person",
    )
    shown = ["require_approval", "change.not_additive"]
    said = _propose(stage, "round-up", code=1, shows=shown)
    request = Path(_word_after(said, "pull request "))
    stage.check("the pull request is a draft", 'status: "draft"' in request.read_text())
    stage.tipstaff("approvals", "list", code=0, shows=["pending"])
    key = said.split("tipstaff approvals approve ")[-1].split()[0] if "approve " in said else ""
    stage.say("\nAn agent tries to approve it:")
    stage.tipstaff("approvals", "approve", key, code=1, shows=["control.human_only"], also=_AGENT)
    stage.check("the pull request is still a draft", 'status: "draft"' in request.read_text())
    stage.say("\nA person does. The change is judged again, by the policy of this moment:")
    stage.tipstaff("approvals", "approve", key, code=0, shows=["allow", "consumed"])
    stage.check("the pull request is ready", 'status: "ready"' in request.read_text())
    stage.tipstaff("approvals", "approve", key, code=2)


def _shell(stage: Stage, repository: Repository) -> None:
    stage.act(
        "Added code that opens a shell",
        "Nobody declared it; it is found in the syntax tree of the added code.",
        "deny forbid:raw_shell_execution, nothing written",
    )
    before = repository.branches()
    _propose(stage, "call-a-shell", code=1, shows=["deny", "forbid:raw_shell_execution"])
    stage.check("no branch was made", repository.branches() == before)


def _protected(stage: Stage, repository: Repository) -> None:
    stage.act(
        "Changes to the rules themselves, and to vendored files",
        "An agent proposes to edit the policy that judges it, then a file that is read-only.",
        "deny path.control_plane, deny path.read_only",
    )
    before = repository.branches()
    shown = ["deny", "path.control_plane"]
    _propose(stage, "edit-the-policy", code=1, shows=shown, also=_AGENT)
    _propose(stage, "edit-vendored", code=1, shows=["deny", "path.read_only"], also=_AGENT)
    stage.check("no branch was made", repository.branches() == before)


def _failing(stage: Stage, repository: Repository) -> None:
    stage.act(
        "A repair that breaks a golden test",
        "The skill no longer works; the golden tests are the base's own, so the change cannot soften them.",
        "not applied: a draft that waits, with tests.failed",
    )
    said = _propose(stage, "break-the-skill", code=1, shows=["require_approval", "tests.failed"])
    request = Path(_word_after(said, "pull request "))
    stage.check("what was made is a draft", 'status: "draft"' in request.read_text())


def _paused(stage: Stage, repository: Repository) -> None:
    stage.act(
        "Pause and resume",
        "Anybody may pause. The next decision sees it; only a person ends it.",
        "allow becomes require_approval, and allow again",
    )
    stage.tipstaff("pause", "--reason", "release day", code=0, shows=["paused"])
    _propose(stage, "add-hours", code=1, shows=["require_approval", "pause.global"])
    stage.tipstaff("resume", code=2, shows=["control.human_only"], also=_AGENT)
    stage.tipstaff("resume", "--reason", "released", code=0, shows=["resumed"])
    _propose(stage, "add-hours", code=0, shows=["allow"])


def _engine_gone(stage: Stage, repository: Repository) -> None:
    stage.act(
        "The engine is attacked, and dies",
        "A stock OPA takes a new policy from anyone; this one does not. Then it is stopped and killed mid-call.",
        "PUT refused; engine.unavailable, deny, exit 3",
    )
    running = json.loads(stage.tipstaff("sidecar", "start", "--json", code=0))
    stage.say(
        "\n$ curl --unix-socket … -X PUT --data 'package tipstaff.decision …' /v1/policies/evil"
    )
    answer = _put_policy(Path(running["socket"]))
    stage.say(f"  {answer}")
    stage.check("OPA refuses to take a policy", answer.split()[1] in ("401", "403"))
    example = repository.root.parent / "question.json"
    example.write_text(json.dumps(_question()), encoding="utf-8")
    os.kill(running["pid"], signal.SIGSTOP)
    asking = stage.start("decide", str(example))
    time.sleep(1.5)
    os.kill(running["pid"], signal.SIGKILL)
    stage.say("  (killed while the question was open)")
    stage.finish(asking, code=3, shows=["deny", "engine.unavailable"])
    stage.say("\nThe next question starts another OPA:")
    stage.tipstaff("decide", str(example), code=1, shows=["gate.require_human"])


def _tampered(stage: Stage, repository: Repository) -> None:
    stage.act(
        "The team's signed overlay is altered",
        "One byte of policy.tar.gz changes. Without the check its denies would just be absent.",
        "deny, exit 3, nothing written",
    )
    bundle = repository.root / "policy.tar.gz"
    good = bundle.read_bytes()
    middle = len(good) // 2
    bundle.write_bytes(good[:middle] + bytes([good[middle] ^ 1]) + good[middle + 1 :])
    before = repository.branches()
    _propose(stage, "add-hours", code=3, shows=["deny", "engine."])
    stage.check("no branch was made", repository.branches() == before)
    bundle.write_bytes(good)
    stage.say("\nThe byte is put back:")
    stage.tipstaff("check", code=0, shows=["in order"])


def _trail(stage: Stage, repository: Repository) -> None:
    stage.act(
        "The trail proves itself",
        "Everything above is in a hash chain, and its head is kept elsewhere, signed.",
        "verifies; one altered byte is found and named",
    )
    stage.tipstaff("audit", "verify", code=0, shows=["hold"])
    copy = repository.root.parent / "copy-of-the-state"
    shutil.copytree(repository.root / ".tipstaff", copy, ignore=shutil.ignore_patterns("sidecar"))
    trail = copy / "audit-trail.jsonl"
    lines = trail.read_bytes().splitlines(keepends=True)
    lines[3] = lines[3].replace(b'"seq":4', b'"seq":4'.replace(b"4", b"5"), 1)
    trail.write_bytes(b"".join(lines))
    stage.say("\nIn a copy of the state, one byte of the fourth record is changed:")
    stage.tipstaff(
        "audit", "verify", code=1, shows=["line 4"], also={"TIPSTAFF_STATE_DIR": str(copy)}
    )


def _explained(stage: Stage) -> None:
    stage.act(
        "Why?",
        "Every decision can be asked for its rules, its facts and what would change it.",
        "rules, facts and revision of the denied shell",
    )
    changes = json.loads(stage.ask("change", "list", "--json"))["changes"]
    denied = next(change["id"] for change in changes if change["effect"] == "deny")
    shown = ["forbid:raw_shell_execution", "tipstaff.gates.deny", "policy 0."]
    stage.tipstaff("explain", denied, code=0, shows=shown)


def _propose(
    stage: Stage, patch: str, *, code: int, shows: list[str], also: dict[str, str] | None = None
) -> str:
    return stage.tipstaff(
        "change",
        "propose",
        "--class",
        "heal_additive",
        "--diff",
        f"../patches/{patch}.patch",
        "--tests",
        _TESTS,
        code=code,
        shows=shows,
        also=also,
    )


def _question() -> dict[str, object]:
    return {
        "schema_version": 1,
        "kind": "change",
        "subject": {"id": "demo"},
        "action": {"class": "augment", "requested_capabilities": [], "found_capabilities": []},
        "resource": {"base": "0" * 40, "diff_sha256": "0" * 64, "files": []},
    }


def _put_policy(path: Path) -> str:
    """The status line that OPA answers an upload with."""
    body = b"package tipstaff.decision\ndefault verdict := true"
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(5)
        connection.connect(str(path))
        head = b"PUT /v1/policies/evil HTTP/1.1\r\nHost: opa\r\nContent-Length: %d\r\n\r\n"
        connection.sendall(head % len(body) + body)
        return connection.recv(200).split(b"\r\n")[0].decode("ascii", "replace")


def _word_after(text: str, label: str) -> str:
    found = [line.removeprefix(label) for line in text.splitlines() if line.startswith(label)]
    return found[0].strip() if found else "/dev/null"


def _commits(repository: Repository, branch: str) -> int:
    return len(repository.git("rev-list", f"main..{branch}").splitlines()) if branch else 0
