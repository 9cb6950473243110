"""Runs of the script on golden inputs, each in a sandbox of its own, under conditions that differ on purpose.

From one run to the next the process ids, the time zone, the locale and the seed of Python's hashes are others, some
runs find what an earlier call left in the temporary folders, and the last one starts a second after the first. A script
whose output depends on one of these gives another output somewhere. The runs see the skill's folder without the golden
one, so what is expected cannot be copied. Not seen: what changes more slowly, such as the date in UTC.
"""

from __future__ import annotations

import hashlib
import shutil
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from tipstaff.documents.input import SandboxFacts
from tipstaff.documents.sandbox import SandboxProfile, SandboxResult
from tipstaff.documents.strict_json import digest
from tipstaff.evidence import paths
from tipstaff.evidence.golden import sandbox_facts
from tipstaff.evidence.repository import Repository
from tipstaff.healing.augment.skill import Case
from tipstaff.sandbox import toolchain
from tipstaff.sandbox.backend import RunSpec, SandboxBackend, workplace
from tipstaff.sandbox.folder import temporary_folder
from tipstaff.sandbox.toolchain import Host, Toolchain
from tipstaff.sandbox.warm import repeat

_APART_S = 1.1
_ZONES = ("AAA-14", "BBB12", "UTC0", "CCC-5:30")  # the first two are never on the same day
_LOCALES = ("C.UTF-8", "C", "de_DE.UTF-8")
_DOMAIN = "tipstaff.augment.runs.v1"
_UNREADABLE = "\ufffd"
# Nothing from outside is part of this text; all that it works with are its arguments.
_RUNNER = """\
burn=$1 again=$2 input=$3
shift 3
while [ "$burn" -gt 0 ]; do (:); burn=$((burn - 1)); done
while [ "$again" -gt 0 ]; do "$@" < "$input" > /dev/null 2>&1; again=$((again - 1)); done
"$@" < "$input"
exit "$?"
"""


@dataclass(frozen=True)
class Measured:
    """Digests of the outputs by the name of the input, None for a run without a whole one; and where they ran."""

    outputs: dict[str, list[str | None]]
    sandbox: SandboxFacts


@dataclass(frozen=True)
class Setting:
    """Under what the script runs: the backend, its profile, and the repository whose tree holds the script."""

    backend: SandboxBackend
    profile: SandboxProfile
    repository: Repository
    tree: str


def measure(
    setting: Setting, script: str, golden: str, cases: Sequence[Case], *, runs: int
) -> Measured:
    """Run the script, a path of the tree in ``scripts/`` of its skill, ``runs`` times on each input.

    Raises ``SandboxError`` where a run cannot be set up.
    """
    skill = PurePosixPath(script).parents[1]
    python = toolchain.find("python3", Host.current(setting.repository.root))
    outputs: dict[str, list[str | None]] = {case.name: [] for case in cases}
    with temporary_folder() as folder:
        work = folder / "skill"
        _extract(setting, skill, golden, work)
        inputs = _place(work, cases)
        inside = str(PurePosixPath(script).relative_to(skill))
        groups = _groups(runs, warm=setting.profile.warm)
        began = time.monotonic()
        results = []
        for number, times in groups:
            if number == groups[-1][0]:
                time.sleep(max(0.0, _APART_S - (time.monotonic() - began)))
            for case, given in zip(cases, inputs, strict=True):
                spec = _spec(setting, python, work, (inside, given), number)
                for result, _ in repeat(setting.backend, spec, times):
                    results.append(result)
                    outputs[case.name].append(_digest(result))
    return Measured(outputs, _weakest(results))


def _groups(runs: int, *, warm: bool) -> list[tuple[int, int]]:
    """The conditions of the runs by their number, and how many runs there are under each.

    Only equal runs can share a warm sandbox, so there it is two conditions in turn, elsewhere one for each run.
    """
    if not warm:
        return [(number, 1) for number in range(runs)]
    return [(0, runs - runs // 2), (1, runs // 2)]


def _extract(setting: Setting, skill: PurePosixPath, golden: str, work: Path) -> None:
    place = b"" if str(skill) == "." else paths.raw(str(skill))
    name = setting.tree.encode("ascii") + b":" + place
    tree = setting.repository.run("rev-parse", "--verify", name)
    setting.repository.extract(tree.decode("ascii").strip(), work)
    inner = PurePosixPath(golden)
    if inner.is_relative_to(skill):
        shutil.rmtree(work / inner.relative_to(skill), ignore_errors=True)


def _place(work: Path, cases: Sequence[Case]) -> list[str]:
    """Put the inputs beside the skill's files, under a name that none of these has by accident."""
    known = digest([case.input_sha256 for case in cases], domain=_DOMAIN)
    folder = work / f".input-{known[:16]}"
    folder.mkdir(mode=0o755)
    for number, case in enumerate(cases):
        file = folder / str(number)
        file.write_bytes(case.given)
        file.chmod(0o644)
    return [f"{folder.name}/{number}" for number in range(len(cases))]


def _spec(
    setting: Setting, python: Toolchain, work: Path, names: tuple[str, str], number: int
) -> RunSpec:
    script, given = names
    inside = PurePosixPath(workplace(python.readonly))
    own = setting.profile.environment.get("PATH", "")
    program = python.program
    # Counted so that the script's own process id is another one in almost every run, odd and even.
    runner = (str(number // 2), str(number % 2), str(inside / given))
    return RunSpec(
        argv=("/bin/sh", "-c", _RUNNER, "run", *runner, program, "-B", str(inside / script)),
        workdir=work,
        profile=setting.profile,
        environment={
            "LANG": _LOCALES[number % len(_LOCALES)],
            "TZ": _ZONES[number % len(_ZONES)],
            "PATH": python.search_path(own),
        },
        readonly=python.readonly,
        identity=f"{setting.tree} {script} {given} {number}",
    )


def _digest(result: SandboxResult) -> str | None:
    """The digest of what the run printed; None where that is not all of it, or no text, or the run failed."""
    whole = not (result.timed_out or result.truncated or result.exit_code)
    if not whole or _UNREADABLE in result.stdout:
        return None
    return hashlib.sha256(result.stdout.encode("utf-8")).hexdigest()


def _weakest(results: Sequence[SandboxResult]) -> SandboxFacts:
    """Where all of them ran: what held is what held in every one of them."""
    facts = [sandbox_facts(result) for result in results]
    held = set(facts[0].held).intersection(*(each.held for each in facts))
    weakest = {
        "isolated": all(each.isolated for each in facts),
        "held": [word for word in facts[0].held if word in held],
        "spec_sha256": _together(each.spec_sha256 for each in facts),
        "input_sha256": _together(each.input_sha256 for each in facts),
    }
    return facts[0].model_copy(update=weakest)


def _together(digests: Iterable[str | None]) -> str:
    return digest(list(digests), domain=_DOMAIN)
