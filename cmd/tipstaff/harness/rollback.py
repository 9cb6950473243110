"""The way back: what a rollback would do to each file, and whether doing it restores every one exactly."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Literal

from tipstaff import declared
from tipstaff.documents import strict_json
from tipstaff.documents.base import Json
from tipstaff.documents.governed import FileState, RollbackStep
from tipstaff.documents.modification import RehearsalFacts
from tipstaff.documents.text import visible
from tipstaff.errors import ContractError

if TYPE_CHECKING:
    from tipstaff.evidence.isolation import Isolation

Files = Mapping[str, FileState]
_TREE = "/scratch/tree"
_SHOWN = 5


def plan(current: Files, previous: Files) -> list[RollbackStep]:
    """What would be done to each file so that ``previous`` is there again; nothing is done."""
    return [
        RollbackStep(
            path=path,
            action=_action(current.get(path), previous.get(path)),
            before_sha256=_digest(current.get(path)),
            after_sha256=_digest(previous.get(path)),
        )
        for path in sorted({*current, *previous})
    ]


def rehearse(current: Files, previous: Files, isolation: Isolation) -> RehearsalFacts:
    """Do it to copies in a sandbox, and hold what is there afterwards against what was there before.

    Raises ``SandboxError`` where that cannot be isolated.
    """
    from tipstaff.sandbox.backend import RunSpec, workplace
    from tipstaff.sandbox.folder import temporary_folder
    from tipstaff.sandbox.toolchain import own_python

    steps = [
        {"path": step.path, "action": step.action, **_state(previous.get(step.path))}
        for step in plan(current, previous)
    ]
    job = {"current": {path: _state(state) for path, state in current.items()}, "steps": steps}
    python = own_python()
    with temporary_folder() as private:
        work = private / "input"
        work.mkdir()
        shutil.copyfile(declared.folder("sandbox") / "harness/rehearsal.py", work / "rehearsal.py")
        (work / "job.json").write_text(json.dumps(job), encoding="utf-8")
        inside = PurePosixPath(workplace(python.readonly))
        spec = RunSpec(
            argv=(
                python.program,
                "-I",
                "-B",
                str(inside / "rehearsal.py"),
                str(inside / "job.json"),
                _TREE,
            ),
            workdir=work,
            profile=isolation.profile,
            readonly=python.readonly,
        )
        result, _ = isolation.strongest().run(spec)
    if result.exit_code or result.timed_out or result.truncated:
        said = result.stderr.strip().splitlines() or [f"exit code {result.exit_code}"]
        return RehearsalFacts(restored=False, detail=visible(said[-1]), backend=result.backend)
    wrong = _wrong(result.stdout, previous)
    detail = visible(", ".join(wrong[:_SHOWN]))
    return RehearsalFacts(restored=not wrong, detail=detail, backend=result.backend)


def _wrong(printed: str, previous: Files) -> list[str]:
    """The files that are not as they were."""
    try:
        found = strict_json.loads(printed.encode())
    except ContractError as error:
        return [str(error)]
    wanted = {
        path: {"sha256": _digest(state), "mode": state.mode} for path, state in previous.items()
    }
    if not isinstance(found, dict):
        return sorted(wanted)
    return sorted(path for path in {*found, *wanted} if found.get(path) != wanted.get(path))


def _action(
    current: FileState | None, previous: FileState | None
) -> Literal["restore", "remove", "unchanged"]:
    if previous is None:
        return "remove"
    return "unchanged" if current == previous else "restore"


def _state(state: FileState | None) -> Json:
    return {} if state is None else state.model_dump()


def _digest(state: FileState | None) -> str | None:
    return None if state is None else hashlib.sha256(state.content.encode()).hexdigest()
