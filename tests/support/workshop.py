"""A governed repository in which tests propose, judge and decide, everything in it being real."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from support.command_line import Result, run
from support.repositories import SKILL, git
from tipstaff.documents import strict_yaml
from tipstaff.documents.verdict import Verdict
from tipstaff.engine import Engine
from tipstaff.evidence.repository import Repository
from tipstaff.healing.approval import Approver
from tipstaff.healing.proposal import Outcome, Request, propose
from tipstaff.ledger.trail import Trail
from tipstaff.pdp.places import witness_folder

ADDITION = {"skills/word-count/SKILL.md": SKILL + "\nIt reads standard input, too.\n"}
Files = Mapping[str, str | bytes | None]
AUTOMATIC = {"heal_additive": "auto-if-tests-pass"}
GOLDEN = "python -m pytest -q golden"


@dataclass(frozen=True)
class Workshop:
    """A project after ``tipstaff init``, its root, and what tests do in it again and again."""

    root: Path

    @property
    def state(self) -> Path:
        """The state folder."""
        return self.root / ".tipstaff"

    def configure(self, **groups: Any) -> None:
        """Set groups of tipstaff.yaml; None removes one."""
        _merge(self.root / "tipstaff.yaml", groups)

    def prefer(self, **groups: Any) -> None:
        """Set groups of tipstaff.local.yaml; None removes one."""
        _merge(self.root / "tipstaff.local.yaml", groups)

    def engine(self, **options: Any) -> Engine:
        """An engine; close it."""
        return Engine.open(self.root, **options)

    def decide(self, document: Mapping[str, Any]) -> Verdict:
        """One decision by an engine of its own."""
        with self.engine() as engine:
            return engine.decide(document)

    def run(self, *arguments: str | Path, stdin: bytes = b"") -> Result:
        """Run ``tipstaff`` in the root."""
        return run(*arguments, cwd=self.root, stdin=stdin)

    def diff(self, files: Files | None = None, *, mode: str = "100644") -> bytes:
        """The diff that makes these contents of HEAD (None removes one); one that only adds, if none are given.

        Neither the working tree nor the index takes part.
        """
        with TemporaryDirectory() as folder:
            index = {"GIT_INDEX_FILE": str(Path(folder, "index"))}
            self._git("read-tree", "HEAD", env=index)
            for name, content in (ADDITION if files is None else files).items():
                entry = ["--force-remove", "--", name]
                if content is not None:
                    data = content.encode() if isinstance(content, str) else content
                    blob = self._git("hash-object", "-w", "--stdin", stdin=data).strip().decode()
                    entry = ["--add", "--cacheinfo", mode, blob, name]
                self._git("update-index", *entry, env=index)
            tree = self._git("write-tree", env=index).strip()
        return self._git("diff", "--binary", "-M", "HEAD", tree)

    def _git(
        self, *arguments: str | bytes, stdin: bytes = b"", env: Mapping[str, str] | None = None
    ) -> bytes:
        return subprocess.run(
            ["git", "-C", str(self.root), *arguments],
            input=stdin,
            stdout=subprocess.PIPE,
            check=True,
            env={**os.environ, **(env or {})},
        ).stdout

    def propose(
        self,
        files: Files | bytes | None = None,
        action_class: str = "heal_additive",
        **more: Any,
    ) -> Outcome:
        """Have a change judged and carried out, as `tipstaff change propose` does."""
        diff = files if isinstance(files, bytes) else self.diff(files)
        with self.engine() as engine:
            request = Request(diff, action_class, more.pop("subject", engine.actor.id), **more)
            return propose(engine, Repository.open(self.root), request, say=lambda line: None)

    def propose_cli(
        self, diff: bytes, *options: str, action_class: str = "heal_additive"
    ) -> Result:
        """The same through the command line, the diff on standard input."""
        return self.run(
            "change", "propose", "--class", action_class, "--diff", "-", *options, stdin=diff
        )

    def approve(self, key: str, *, token: str | None = None) -> Any:
        """A person's approval, as `tipstaff approvals approve` gives it."""
        with self.engine() as engine:
            approver = Approver(engine, Repository.open(self.root), say=lambda line: None)
            return approver.approve(key, token=token, note=None)

    def status(self, key: str) -> str:
        """How the request stands."""
        answer = self.run("approvals", "show", key, "--json")
        assert answer.code == 0, answer.stderr
        return str(answer.json["status"])

    def sign(self, files: Mapping[str, str]) -> None:
        """Write Rego into the team's overlay and sign it with the team's key."""
        for name, text in files.items():
            file = self.root / "policy" / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
        signed = self.run("policy", "sign", "--json")
        assert signed.code == 0, signed.stderr

    def records(self) -> list[dict[str, Any]]:
        """The lines of the trail."""
        file = self.state / "audit-trail.jsonl"
        return (
            [json.loads(line) for line in file.read_bytes().splitlines()] if file.exists() else []
        )

    def entries(self) -> list[str]:
        """What each line of the trail says was done."""
        return [record["decision"] for record in self.records()]

    def is_sound(self) -> bool:
        """Whether the trail verifies."""
        with Trail(self.state, witness=witness_folder()) as trail:
            return trail.verify().is_valid

    def branches(self) -> list[str]:
        """The branches that were made for changes."""
        return git(
            self.root, "for-each-ref", "--format=%(refname:short)", "refs/heads/tipstaff"
        ).split()

    def pull_requests(self) -> dict[str, str]:
        """The text of each pull request file by its decision."""
        folder = self.state / "pull-requests"
        return {file.stem: file.read_text() for file in sorted(folder.glob("*.md"))}

    def own(self) -> dict[str, str]:
        """What is the user's: HEAD, index, working tree with modes, and all branches but Tipstaff's."""
        refs = git(self.root, "for-each-ref").splitlines()
        git_dir = self.root / ".git"
        found = {
            "refs": "\n".join(line for line in refs if "refs/heads/tipstaff/" not in line),
            "HEAD": (git_dir / "HEAD").read_text(),
            "index": hashlib.sha256((git_dir / "index").read_bytes()).hexdigest(),
        }
        for path in sorted(self.root.rglob("*")):
            if path.relative_to(self.root).parts[0] in (".git", ".tipstaff"):
                continue
            found[os.fsencode(path).hex()] = _trace(path)
        return found


def contents(folder: Path, *, without: tuple[str, ...] = ("sidecar",)) -> dict[str, str]:
    """Every file below a folder with its mode and digest, some top folders left out."""
    return {
        str(path.relative_to(folder)): _trace(path)
        for path in sorted(folder.rglob("*"))
        if path.relative_to(folder).parts[0] not in without
    }


def _trace(path: Path) -> str:
    if path.is_symlink():
        return f"link {os.readlink(path)}"
    digest = hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""
    return f"{path.stat().st_mode:o} {digest}"


def _merge(file: Path, groups: Mapping[str, Any]) -> None:
    value = strict_yaml.load(file) if file.exists() else {}
    value = {**value, **groups, "schema_version": 1}
    kept = {key: item for key, item in value.items() if item is not None}
    file.write_text("".join(f"{key}: {json.dumps(item)}\n" for key, item in kept.items()))
