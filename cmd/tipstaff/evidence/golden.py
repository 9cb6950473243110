"""The golden tests of a change, run on the patched tree in a throw-away copy inside a sandbox.

Counts come from the JUnit XML of the run and from nothing else. What cannot be measured is absent, with the
reason beside it; it is never a pass.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from tipstaff.documents.input import SandboxFacts, TestFacts
from tipstaff.documents.sandbox import SandboxProfile, SandboxResult
from tipstaff.documents.text import visible
from tipstaff.errors import ContractError, SandboxError
from tipstaff.evidence import command as commands
from tipstaff.evidence import judge, junit
from tipstaff.evidence.diff import Patch
from tipstaff.evidence.repository import Repository
from tipstaff.sandbox import toolchain
from tipstaff.sandbox.backend import RunSpec, SandboxBackend, workplace
from tipstaff.sandbox.folder import temporary_folder
from tipstaff.sandbox.selection import strongest
from tipstaff.sandbox.toolchain import Host, Toolchain

_SHOWN_OUTPUT = 400


@dataclass(frozen=True)
class GoldenRun:
    """What was measured. ``reason`` says why ``tests`` is absent; ``result`` is the run, if one took place."""

    tests: TestFacts | None
    sandbox: SandboxFacts | None
    result: SandboxResult | None
    reason: str | None = None


def run(
    repository: Repository,
    patch: Patch,
    command: str,
    *,
    profile: SandboxProfile,
    test_paths: Sequence[str],
    choose: Callable[[], SandboxBackend] | None = None,
) -> GoldenRun:
    """Run a test command on the patched tree, with everything that judges taken from the base.

    ``test_paths`` are the team's own list of judges. ``choose`` gives the backend;
    the strongest runs without it. Raises ``ContractError`` for a command that cannot be run
    anywhere; a sandbox that is missing or fails gives a run without facts and with a reason.
    """
    parsed = commands.parse(command)
    judged = judge.lay_over(
        repository, patch.base, patch.tree, listed=test_paths, named=parsed.words()
    )
    with temporary_folder() as folder:
        tree = folder / "tree"
        repository.extract(judged.tree, tree)
        tools = _tools(parsed.program, tree, repository.root)
        if judged.objection is not None:
            return GoldenRun(None, None, None, judged.objection)
        identity = f"{judged.tree} {patch.diff_sha256}"
        spec = _spec(parsed, tools, tree, _Setting(profile, repository.root, identity))
        try:
            result, outputs = (choose() if choose else strongest(profile)).run(spec)
        except SandboxError as error:
            return GoldenRun(None, None, None, f"{error.code}: {error.message}")
    report = outputs.get(commands.JUNIT_FILE)
    return _read(result, report, patch.diff_sha256, command)


def sandbox_facts(result: SandboxResult) -> SandboxFacts:
    """What a run's result says of where it took place."""
    return SandboxFacts(
        backend=result.backend,
        profile=result.profile,
        isolated=result.isolated,
        held=result.held,
        backend_version=result.backend_version,
        kernel=result.kernel,
        spec_sha256=result.spec_sha256,
        input_sha256=result.input_sha256,
    )


@dataclass(frozen=True)
class _Setting:
    profile: SandboxProfile
    root: Path
    identity: str


def _tools(program: str, tree: Path, root: Path) -> Toolchain:
    """The program's toolchain; a relative path is a file of the tree, and its ``program`` stays relative."""
    host = Host.current(root)
    if "/" not in program or program.startswith("/"):
        return toolchain.find(program, host)
    relative = os.path.normpath(program)
    file = tree / relative
    if relative.startswith("..") or not file.is_file() or file.is_symlink():
        raise ContractError(
            "tests.program_missing",
            f"{program!r} is not a file of the base commit",
            field="tests",
            fix="commit the script, or name a program on PATH",
        )
    needs = toolchain.find_interpreter(file, host) or Toolchain(relative)
    return Toolchain(relative, needs.readonly, needs.path, needs.sources, needs.user_base)


def _spec(parsed: commands.Command, tools: Toolchain, tree: Path, setting: _Setting) -> RunSpec:
    work = workplace(tools.readonly)
    inside = PurePosixPath(work)
    variables = {
        "PATH": tools.search_path(setting.profile.environment.get("PATH", "")),
        "PYTHONDONTWRITEBYTECODE": "1",
        "TIPSTAFF_JUNIT": commands.JUNIT_FILE,
    }
    root = setting.root.resolve()
    in_place = [inside / path.relative_to(root) for path in _below(tools.sources, root)]
    if in_place:
        variables["PYTHONPATH"] = os.pathsep.join(str(path) for path in in_place)
    if tools.user_base is not None:
        variables["PYTHONUSERBASE"] = str(tools.user_base)
    return RunSpec(
        argv=(str(inside / tools.program), *parsed.reporting()[1:]),
        workdir=tree,
        profile=setting.profile,
        outputs=(commands.JUNIT_FILE,),
        environment=variables,
        readonly=tools.readonly,
        identity=setting.identity,
    )


def _below(folders: Sequence[Path], root: Path) -> list[Path]:
    return [real for folder in folders if (real := folder.resolve()).is_relative_to(root)]


def _read(result: SandboxResult, report: bytes | None, diff_sha256: str, command: str) -> GoldenRun:
    sandbox = sandbox_facts(result)
    reason = None
    counts = None
    if result.timed_out:
        reason = f"the tests did not end within {result.limits.wall_s} s"
    elif report is None:
        reason = f"the run left no JUnit XML at {commands.JUNIT_FILE}; {_last_words(result)}"
    else:
        counts = junit.count(report)
        if counts is None:
            reason = f"the run's JUnit XML holds no test case or is not one; {_last_words(result)}"
    if counts is None:
        return GoldenRun(None, sandbox, result, reason)
    failed = counts.failed or int(result.exit_code != 0)  # a crash is not a pass
    facts = TestFacts(
        passed=counts.passed,
        failed=failed,
        skipped=counts.skipped,
        diff_sha256=diff_sha256,
        command=command,
    )
    return GoldenRun(facts, sandbox, result)


def _last_words(result: SandboxResult) -> str:
    said = " ".join((result.stderr.strip() or result.stdout.strip())[-_SHOWN_OUTPUT:].split())
    return f"it ended with {result.exit_code}: {visible(said) or 'no output'}"
