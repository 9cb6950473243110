"""The folders of one run: the input with the programs, and the folder of the host that nothing may reach."""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import shutil
import stat
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tipstaff.documents.sandbox import RunLimits, SandboxResult
from tipstaff.sandbox.escape import cases
from tipstaff.sandbox.escape.cases import Case

PROGRAMS = "programs"
_DESCRIPTION = "traps.json"
_JUDGE = "judge.txt"
_EVERYBODY = 0o777
Entry = tuple[int, int, int, int, str]


@dataclass(frozen=True)
class Ran:
    """How a run went: its record, and what it handed back."""

    result: SandboxResult
    outputs: Mapping[str, bytes]

    def holds(self, word: str) -> bool:
        """Whether anything that came out of the sandbox has the word in it."""
        texts = (self.result.stdout, self.result.stderr)
        return any(word in text for text in texts) or any(
            word.encode() in data for data in self.outputs.values()
        )


@dataclass
class Ground:
    """Where the cases of one run stand. Everybody who reaches ``outside`` may write there."""

    input: Path
    outside: Path
    canaries: dict[str, str] = field(default_factory=dict)
    _before: dict[str, Entry] = field(default_factory=dict)

    @classmethod
    def lay(cls, folder: Path, chosen: Sequence[Case]) -> Ground:
        """Make the folders, with one below each for every case."""
        ground = cls(folder / "input", folder / "outside")
        shutil.copytree(cases.folder(), ground.input / PROGRAMS, ignore=_only_programs)
        ground.outside.mkdir()
        for case in chosen:
            for place in (ground.input, ground.outside):
                (place / case.id).mkdir()
                (place / case.id / _JUDGE).write_text("as it was\n")
        return ground

    def canary(self, case: Case) -> str:
        """This case's secret; if it comes out, that came from the host."""
        return self.canaries.setdefault(case.id, f"canary-{case.id}-{secrets.token_hex(8)}")

    def describe(self, addresses: Mapping[str, Any], limits: RunLimits) -> None:
        """Write down for the programs where the traps are, and remember how everything looks."""
        description = {
            "outside": str(self.outside),
            "traps": addresses,
            "limits": limits.model_dump(),
            "numbers": cases.numbers(),
            "parent": os.getpid(),
        }
        (self.input / PROGRAMS / _DESCRIPTION).write_text(json.dumps(description))
        _open_to_everybody(self.outside)
        self._before = self._look()

    def arguments(self, work: str, chosen: Sequence[Case]) -> tuple[str, ...]:
        """What the interpreter is given to run these cases."""
        runner = f"{work}/{PROGRAMS}/runner.py"
        return (runner, _DESCRIPTION, *(case.id for case in chosen))

    def changes(self) -> list[str]:
        """What is no longer as it was, as ``input/<case>/…`` or ``outside/<case>/…``."""
        now = self._look()
        differing = {
            path for path in {*self._before, *now} if self._before.get(path) != now.get(path)
        }
        return sorted(differing)

    def _look(self) -> dict[str, Entry]:
        found: dict[str, Entry] = {}
        for top in (self.input, self.outside):
            for path in top.rglob("*"):
                found[f"{top.name}/{path.relative_to(top)}"] = _entry(path)
        return found


def _only_programs(_: str, names: list[str]) -> set[str]:
    return {name for name in names if not name.endswith(".py")}


def _entry(path: Path) -> Entry:
    """What a change of an entry would show in. Owners do not count: root hands its input over."""
    status = path.lstat()
    kind = stat.S_IFMT(status.st_mode)
    content, times = "", status.st_mtime_ns
    if kind == stat.S_IFLNK:
        content = os.readlink(path)
    elif kind == stat.S_IFREG:
        content = hashlib.sha256(path.read_bytes()).hexdigest()
    return status.st_mode, status.st_nlink, times, status.st_ino, content


def _open_to_everybody(folder: Path) -> None:
    for path in (folder, *folder.rglob("*")):
        if not path.is_symlink():
            path.chmod(_EVERYBODY)
